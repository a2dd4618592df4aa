// What crosses between the page and the worker that owns the session.
//
// Weights, counts and addresses are JavaScript numbers; what exceeds 2^53 is rounded by the session. Columns are typed
// arrays that were transferred, so each answer owns its memory. `ProfileInfo` and `Dso` keep the snake_case of
// `perftab info --json`, because they are that JSON.

/** A call node id that stands for "everything": the root of the tree. */
export const ALL = 0;
/** In columns of ids: no id here (a folded box, a box too narrow for a label). */
export const NONE = 0xffffffff;

export interface Query {
  event: number;
  direction: "callees" | "inverted";
  group: "process" | "thread" | "none";
  inlines: "shown" | "merged";
}

/** What part of the graph to lay out, and how wide. */
export interface FlameWindow {
  /** The call node that fills the width; `ALL` for the whole profile. */
  root: number;
  widthPx: number;
  /** Calls narrower than this fold into one box. */
  minPx: number;
  /** Marks boxes whose function matches; empty marks none. */
  search: string;
}

/** `FlameGraph.kind`, `CallNodeDetail.kind` and the rest: whose code a frame is. */
export const Kind = { Pseudo: 0, Own: 1, System: 2, Kernel: 3, Jit: 4, Unnamed: 5, Folded: 6 } as const;
/** Bits of every `flags` column. */
export const Flag = { Inlined: 1, Forced: 2, Match: 4, Pseudo: 8 } as const;

/** Boxes of a flame graph, row by row from the root, in ascending order of `start` within a row. */
export interface FlameGraph {
  depths: number;
  /** `depths + 1` indexes into the columns below. */
  rowStart: Uint32Array;
  /** Pixels within `widthPx`. */
  start: Float32Array;
  end: Float32Array;
  /** `NONE` for a folded box. */
  callNode: Uint32Array;
  /** How many call nodes the box stands for if it is folded, else 0. */
  folded: Uint32Array;
  kind: Uint8Array;
  /** 0 to 2: the step of shade that tells neighbours apart. */
  shade: Uint8Array;
  flags: Uint8Array;
  /** The same function has the same number everywhere. */
  functionId: Uint32Array;
  /** Index into `labels`, `NONE` for a box too narrow to have one. */
  label: Uint32Array;
  labels: string[];
  total: Float64Array;
  /** From the root of the whole tree down to the window's root. */
  path: { callNode: number; name: string }[];
  rootTotal: number;
  rootSamples: number;
  allTotal: number;
  generation: number;
}

export interface CallNodeDetail {
  callNode: number;
  name: string;
  functionId: number | null;
  dsoId: number | null;
  dso: string | null;
  dsoStatus: DsoStatus | null;
  buildId: string | null;
  file: string | null;
  line: number | null;
  inlined: boolean;
  kind: number;
  flags: number;
  totalWeight: number;
  selfWeight: number;
  totalSamples: number;
  selfSamples: number;
  /** Names from the first level down to this one, and the same as call nodes. */
  path: string[];
  pathNodes: number[];
  /** 0 for the root. */
  depth: number;
  parent: number | null;
  heaviestChild: number | null;
  previousSibling: number | null;
  nextSibling: number | null;
  setSize: number;
  posInSet: number;
  childCount: number;
}

/** The children of one call node, heaviest first. */
export interface CallTreeRows {
  callNode: Uint32Array;
  depth: Uint16Array;
  childCount: Uint32Array;
  total: Float64Array;
  self: Float64Array;
  functionId: Uint32Array;
  kind: Uint8Array;
  flags: Uint8Array;
  names: string[];
  dsos: string[];
}

export interface FunctionsOrder {
  key: "self" | "total" | "name" | "dso";
  descending: boolean;
}

/** The rows `from..to` of the functions table. */
export interface FunctionRows {
  totalCount: number;
  functionId: Uint32Array;
  /** The heaviest call node of each. */
  heaviest: Uint32Array;
  self: Float64Array;
  total: Float64Array;
  kind: Uint8Array;
  flags: Uint8Array;
  names: string[];
  dsos: string[];
}

export interface SearchResult {
  functions: number;
  samples: number;
  weight: number;
  /** Share of the whole tree's weight, 0 to 1. */
  share: number;
  /** The heaviest call node of each matching function, heaviest first. */
  matches: Uint32Array;
}

export interface Warning {
  kind: string;
  offset: number | null;
  message: string;
}

/** `perftab info --json`. */
export interface ProfileInfo {
  format: { mode: "file" | "pipe" | "directory" | "snapshot"; byte_order: "little" | "big"; compression: "none" | "zstd" };
  host: {
    hostname: string | null;
    os_release: string | null;
    arch: string | null;
    cpus: number | null;
    cmdline: string[] | null;
  };
  events: { name: string; samples: number; weight: number }[];
  samples: number;
  records: Record<string, number>;
  processes: number;
  threads: number;
  /** Nanoseconds of the recording's clock. */
  time: { start: number; end: number } | null;
  lost: { events: number; samples: number };
  dsos: Dso[];
  warnings: Warning[];
}

export type DsoStatus = "matched" | "embedded" | "missing" | "mismatched" | "no-identity" | "forced";
export type DsoKind = "user" | "kernel" | "module" | "vdso" | "jit" | "anon" | "unmapped";

export interface Dso {
  path: string;
  kind: DsoKind;
  build_id: string | null;
  identity: "gnu" | "content" | "none";
  recorded_by: "mmap" | "table" | "stream" | null;
  leaf_samples: number;
  samples: number;
  status: DsoStatus;
  /** A sentence, where the status needs one. */
  reason: string | null;
  /** The name of the file that gives its names. */
  image: string | null;
}

/** A row of the ledger. */
export interface DsoRow extends Dso {
  id: number;
  name: string;
  /** Share of the weight whose leaf frame is here, 0 to 1. */
  leaf_share: number;
  /** Share of the weight that passes through here, 0 to 1. */
  share: number;
  /** What the matched file gives: "function names only", "inlines and source lines" … */
  gives: string | null;
  /** The build-id of a file of the same name that was given and not used. */
  found: string | null;
}

/** Why a file was not used. */
export type Rejection =
  | { kind: "not-an-image"; firstBytes: number[] }
  | { kind: "no-identity-in-file" }
  | { kind: "nothing-recorded-has-it"; found: string; sameName?: { dso: number; wanted: string } | null }
  | { kind: "recorded-without-identity"; path: string }
  | { kind: "unreadable"; message: string };

/** What became of files that were dropped. */
export interface DropReport {
  used: { file: string; dso: number; gives: string }[];
  notUsed: { file: string; reason: Rejection; message: string }[];
}

export interface FetchRequest {
  /** The server's base, as in DEBUGINFOD_URLS. */
  url: string;
  /** The token of `perftab view`, where its proxy is asked. */
  token?: string;
  dso: number;
}

/** What became of one DSO that a debuginfod was asked for. */
export type FetchOutcome =
  | { outcome: "found"; gives: string; bytes: number }
  | { outcome: "not-found" }
  | { outcome: "unreachable"; message: string }
  | { outcome: "wrong-id"; found: string }
  | { outcome: "unusable"; message: string }
  | { outcome: "cancelled" };

/** What a link of `budget` characters may hold; `base` is the address before `#`, which counts. */
export interface ShareRequest {
  budget: number;
  base: string;
}

export interface Shared {
  /** `p1.…`, ready to follow `#`. */
  payload: string;
  /** Of the whole link, base included. */
  characters: number;
  keptNodes: number;
  totalNodes: number;
  /** Weight kept under its own name, 0 to 1. */
  keptWeightShare: number;
  /** Calls under this share are folded into their callers; 0 if none is. */
  thresholdShare: number;
  foldedWeight: number;
}

/** What a long call reports while it runs. `total` is absent where it is unknown. */
export interface Progress {
  stage: "reading" | "ordering" | "naming" | "fetching" | "sharing";
  done: number;
  total?: number;
}

/** Every failure of a call, as the worker sends it. */
export interface SessionFailure {
  kind: string;
  message: string;
  /** Byte offset in the file, where one is known. */
  offset?: number;
  /** The first bytes of a file that is not a profile. */
  firstBytes?: number[];
}

/** Method by method: what goes in and what comes back. */
export interface Protocol {
  open: { args: { file: File }; result: ProfileInfo };
  /** `size` is what the server named, if it did; the body is read as it comes. */
  openUrl: { args: { url: string; name: string; size?: number }; result: ProfileInfo };
  openLink: { args: { payload: string }; result: ProfileInfo };
  info: { args: Record<string, never>; result: ProfileInfo };
  dsos: { args: Record<string, never>; result: DsoRow[] };
  admit: { args: { files: File[] }; result: DropReport };
  fetchDebuginfod: { args: FetchRequest; result: FetchOutcome };
  flameGraph: { args: { query: Query; window: FlameWindow }; result: FlameGraph };
  /** null if there is no such call node (any more). */
  callNodeDetail: { args: { query: Query; callNode: number }; result: CallNodeDetail | null };
  callTreeChildren: { args: { query: Query; callNode: number }; result: CallTreeRows };
  functions: { args: { query: Query; order: FunctionsOrder; from: number; to: number }; result: FunctionRows };
  search: { args: { query: Query; text: string }; result: SearchResult };
  share: { args: ShareRequest; result: Shared };
  exportCollapsed: { args: { query: Query }; result: Blob };
  /** Bytes of the worker's wasm memory. */
  memory: { args: Record<string, never>; result: number };
}

export type Method = keyof Protocol;
export type Args<M extends Method> = Protocol[M]["args"];
export type Result<M extends Method> = Protocol[M]["result"];

/** Page to worker. `wasm` is the session's code, gzip in base64, as the page holds it. */
export type Request =
  | { type: "start"; wasm: string }
  | { type: "call"; id: number; method: Method; args: unknown }
  | { type: "cancel"; id: number };

/** Worker to page. */
export type Reply =
  | { id: number; ok: unknown }
  | { id: number; error: SessionFailure }
  | { id: number; progress: Progress };
