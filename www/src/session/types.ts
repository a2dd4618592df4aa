// What crosses between the page and the worker that owns the session.
//
// Weights, counts and addresses are JavaScript numbers; what exceeds 2^53 is rounded by the session. Columns are typed
// arrays that were transferred, so each answer owns its memory. `ProfileInfo` and `DsoRow` keep the snake_case of
// `perftab info --json`, because they are that JSON. Questions of a session, their
// answers and all that is in these are generated from Rust; what is added here is what the worker itself does, and what the page
// calls things.

import type {
  AnnotatedCode,
  Answer,
  CallerGuesses,
  CodeFrom,
  ComparedAnswer,
  ComparedQuestion,
  Coverage,
  DrawnComparison as ComparedGraph,
  DrawnGraph as FlameGraph,
  DrawnTimeOrder as TimeOrder,
  DsoRow,
  ExportRequest,
  Failure as SessionFailure,
  ForceOutcome,
  FunctionRef,
  MarkRows as Marks,
  NotUsed,
  Place,
  ProfileInfo,
  Query as PartialQuery,
  Question,
  RenameText as PartialRename,
  SharedLink,
  ShareOptions,
  TextCheck,
  TextColumn,
  UsedFile,
} from "../generated/perftab_web.js";

// All that is generated, under its own name; what is declared below comes before it.
export type * from "../generated/perftab_web.js";
// What the page calls otherwise.
export type { ComparedGraph, FlameGraph, Marks, SessionFailure, TimeOrder };
export type { Part as TextPart, Status as DsoStatus } from "../generated/perftab_web.js";
export type RenameText = Required<PartialRename>;
/** Rust gives every field a default; the page always says what it means. */
export type Query = Required<PartialQuery>;

/** A call node id that stands for "everything": the root of the tree. */
export const ALL = 0;
/** In columns of ids: no id here (a folded box, a box too narrow for a label). */
export const NONE = 0xffffffff;

/** The `kind` columns: whose code a frame is. */
export const Kind = { Pseudo: 0, Own: 1, System: 2, Kernel: 3, Jit: 4, Unnamed: 5, Folded: 6 } as const;
/** Bits of every `flags` column. */
export const Flag = { Inlined: 1, Forced: 2, Match: 4, Pseudo: 8, Collapsed: 16 } as const;
/** Of code without a name: the `Kind` that it would be with one. */
export const kindBelow = (flags: number): number => flags >> 5;

export interface FunctionsOrder {
  key: "self" | "total" | "mean" | "name" | "dso";
  descending: boolean;
}

/** A file and the profiles that take names from it. */
export interface TakenFile extends UsedFile {
  by: ProfileSlot[];
}

/** A file that no profile uses, and what the one of them says of it that knows most. */
export interface RefusedFile extends NotUsed {
  by: ProfileSlot;
}

/** What became of files that were dropped, and of those in them that were packed. */
export interface DropReport {
  used: TakenFile[];
  notUsed: RefusedFile[];
  /** Members of archives that are no images, or of nothing that was recorded: counted, not listed. */
  passedOver: number;
}

export interface FetchRequest {
  /** Whose DSO it is; the first recording's, unless said. */
  which?: ProfileSlot;
  server: Server;
  /** What is wanted. The session compares what comes with what was recorded, not with this. */
  dso: Pick<DsoRow, "name" | "kind" | "identity" | "build_id">;
}

/**
 * Who may have a file. `perftab view` answers for its own machine, of which nobody else learns, and reads files there piece by
 * piece; and it asks the debuginfod servers that it was told.
 */
export interface Server {
  kind: "this-machine" | "perftab-view" | "debuginfod";
  /** Its base, as in DEBUGINFOD_URLS, and what messages call it. */
  url: string;
  host: string;
  /** The token of `perftab view`. */
  token?: string;
}

/** What a debuginfod said, or did not say, to one build-id. The words are those of `perftab view` too. */
export type ServerOutcome =
  | "found"
  | "not-found"
  | "unreachable"
  /** It answers, but lets no page of another origin read its answers. */
  | "no-cors"
  /** It sent a file with another build-id, which `detail` is. */
  | "wrong-id"
  | "too-large"
  /** It sent what is no binary. */
  | "unusable"
  | "failed";

export interface ServerAnswer {
  server: string;
  outcome: ServerOutcome;
  /** What the outcome alone does not say; may be empty. */
  detail: string;
  /** All of it in words, where `perftab view` has said it. */
  sentence?: string;
}

/** What became of one DSO that one server was asked for; `perftab view` answers for all that it asked. */
export interface FetchOutcome {
  answers: ServerAnswer[];
}

/** What a link of `budget` characters may hold; `base` is the address before `#`, which counts. */
export interface ShareRequest {
  budget: number;
  base: string;
  options: ShareOptions;
}

export interface Shared extends SharedLink {
  /** Of the whole link, base included. */
  characters: number;
}

/** How instructions of x86 are written. */
export type Syntax = "intel" | "att";

/** Code of a function, decoded: one row for each instruction, or each line, of columns. */
export interface CodePiece extends AnnotatedCode {
  dso: number;
  from: CodeFrom;
  /** Where it begins as frames have it. */
  start: bigint;
  /** Where it begins in the file's own addresses, and its bytes. */
  startInFile: bigint;
  bytes: Uint8Array;
  /** By instruction: where it begins in the code, and what it is; empty for bytes that are none. */
  starts: Uint32Array;
  instructions: TextColumn;
  /** The number of the target that it leads to; NONE for none. */
  target: Uint32Array;
  /** The number of what it refers to besides; NONE for nothing. */
  refersTo: Uint32Array;
  /** The number of the instruction of this piece that it leads to; NONE for none. */
  goesTo: Uint32Array;
}

/** The code where samples of a function ended in one DSO, and why it is not all of it. */
export interface ListedCode {
  pieces: CodePiece[];
  ended: "no-code" | "too-long" | null;
}

/** Code of a DSO, as frames have its address, and the source file that it was made of, as debug information has its path. */
export interface CodeOfFile {
  dso: number;
  address: bigint;
  path: string;
}

/** A source file that hot places are of, what speaks for it, and which of its lines are wanted. */
export interface WantedSource {
  path: string;
  /** Of what was compiled, where that is known; `noted` says of how much of the code. */
  md5: Uint8Array | null;
  noted: "all" | "some" | "none";
  /** Code that was made of it, if all of it is of one build; in the file's own addresses, and as frames have it. */
  code: { dso: number; address: bigint } | null;
  at: { dso: number; address: bigint };
  lines: Uint32Array;
}

/** What a source file holds; or why it is not the one that was compiled. */
export interface ReadSource {
  why: string | null;
  text: string;
}

/** What a long call reports while it runs. `total` is absent where it is unknown. */
export interface Progress {
  stage: "reading" | "offering" | "unwinding" | "naming" | "fetching" | "counting" | "writing";
  done: number;
  total?: number;
}

/** Which of the two recordings that a worker may have. */
export type ProfileSlot = "first" | "second";

/** What is compared: queries of two recordings, or of one. */
export interface CompareRequest {
  before: { which: ProfileSlot; query: Query };
  after: { which: ProfileSlot; query: Query };
}

/** What a profile that was shared came in. */
export type Carrier = "link" | "page";

/** What is said of a profile, and of the one beside it, when it opens and whenever names have changed. */
export interface Facts {
  info: ProfileInfo;
  coverage: Coverage;
  /** Changes whenever names do; ids of call nodes are of one generation. */
  generation: number;
  second: { info: ProfileInfo; coverage: Coverage } | null;
}

/** The names in a type that stands for many: `{ name: value } | …`. */
type Names<Each> = Each extends unknown ? Extract<keyof Each, string> : never;
/** What it has under one of them. */
type Under<Each, Name extends string> = Each extends Record<Name, infer Value> ? Value : never;

/** Rust gives every field of these a default; the page always says what it means. */
type Said<Args> = { [Name in keyof Args]: Name extends "query" | "order" | "view" | "rows" ? Required<Args[Name]> : Args[Name] };

/** What a session is asked, and what it says: generated. */
export type SessionMethod = Names<Question>;
export type ArgsOf<M extends SessionMethod> = Said<Under<Question, M>>;
export type AnswerTo<M extends SessionMethod> = Under<Answer, M>;
/** The same of comparisons. */
export type ComparedMethod = Names<ComparedQuestion>;

/** A call node of the generation that the page knows, and its place, if the page has been told. */
export interface SoughtCallNode {
  callNode: number;
  place: Place | null;
}

/** What the worker itself does and knows; what opens, brings names, or leaves the page. */
interface HostProtocol {
  /** The first bytes that come out of each compressed file; none where nothing does. */
  peek: { args: { files: File[] }; result: Uint8Array[] };
  /** The text in a packed file; null where it is not packed, or holds neither a link nor a saved page. */
  unpackText: { args: { file: File }; result: string | null };
  /** The one file of a recording; of one that is a folder `data` first, then its streams. */
  open: { args: { parts: File[] }; result: Facts };
  /**
   * `size` is what the server said it has; it must answer ranges. `files` is where it takes what was read of the recording's
   * files, and says which build-ids were read when their file had become another. Of what has a carrier the only part is the
   * payload of a link.
   */
  openUrl: {
    args: { carrier: Carrier | null; parts: { url: string; size: number }[]; files: string; code: string };
    result: Facts;
  };
  openLink: { args: { payload: string }; result: Facts };
  /** Shows what has been read so far of what is being opened; null where that is nothing yet, or all of it. */
  readSoFar: { args: Record<string, never>; result: Facts | null };
  /** No more is read of what is being opened: it opens with what there is. */
  stopReading: { args: Record<string, never>; result: null };
  /**
   * What names change, for all that are open; and where call nodes of the generation that the page knows are now in the
   * query's tree: 0 for what is not there any more.
   */
  facts: { args: { query: Query; sought: SoughtCallNode[] }; result: Facts & { callNodes: number[] } };
  /** Changes whenever names do; ids of call nodes are of one generation. */
  generation: { args: Record<string, never>; result: number };
  admit: { args: { files: File[] }; result: DropReport };
  /** Offers what travelled in the recordings that are open; false if there is nothing, or it was offered before. */
  admitEmbedded: { args: Record<string, never>; result: boolean };
  /** Names one DSO from a file that is not the one that ran. */
  force: { args: { dso: number; file: File }; result: ForceOutcome };
  /** Names what has no identity by what `perftab view` has at its paths: the DSOs that it named, by force. */
  trustPaths: { args: Trusted; result: number[] };
  /** Those that came with a link stay. */
  unforce: { args: { dso: number }; result: null };
  /** What comes gives its names with `nameFrames`. */
  fetchDebuginfod: { args: FetchRequest; result: FetchOutcome };
  /** Names the code of files that were fetched since. Until then views have the names that they had. */
  nameFrames: { args: Record<string, never>; result: null };
  /** The code of a function with what ended in it; `listing` is the module that decodes, as the page has it. */
  listCode: { args: { query: Query; function: FunctionRef; syntax: Syntax; listing: string }; result: ListedCode[] };
  /**
   * Reads what stands where samples ended, for a link with these options: instructions at once. What it says of source files is
   * for `tellLines`.
   */
  readPlaces: { args: { options: ShareOptions; syntax: Syntax; listing: string }; result: WantedSource[] };
  /** Takes in lines of one of those. */
  tellLines: { args: { path: string; check: TextCheck; lines: Uint32Array; texts: string[] }; result: null };
  /** The text of a source file that is in the debug information; null if none is. */
  embeddedSource: { args: CodeOfFile; result: Uint8Array<ArrayBuffer> | null };
  /** Asks a debuginfod server for a source file, by a build and the path that its debug information has for it. */
  fetchSource: { args: { server: Server; id: string; path: string }; result: { answer: ServerAnswer; bytes: Blob | null } };
  /** A source file, compared with MD5 of the one that was compiled, where that is known. */
  readSource: { args: { file: File; md5: Uint8Array | null; listing: string }; result: ReadSource };
  /** Names the data of memory accesses by files that have come since it was asked last; whether any did. */
  nameData: { args: Record<string, never>; result: boolean };
  /** Unwinds what files that have come tell how to, and what can be guessed; whether anything could be. */
  unwind: { args: { guesses: CallerGuesses }; result: boolean };
  /**
   * Reads the branches that a query's filters leave, for `branchBlocks`, and what files of their code are wanted; false where
   * there is no recording to read, or not all of it yet.
   */
  readBranches: { args: { query: Query }; result: boolean };
  /** Opens a recording beside the one that is open: it takes the place of another such. */
  openSecond: { args: { parts: File[] }; result: ProfileInfo };
  openSecondUrl: { args: Args<"openUrl">; result: ProfileInfo };
  share: { args: ShareRequest; result: Shared };
  /** No more links are wanted for now. */
  endSharing: { args: Record<string, never>; result: null };
  /** A file of another tool. */
  export: { args: { request: ExportRequest }; result: Blob };
  /** Bytes of the worker's wasm memory. */
  memory: { args: Record<string, never>; result: number };
}

/** Method by method: what goes in and what comes back. */
export type Protocol = HostProtocol & {
  [M in Exclude<SessionMethod, keyof HostProtocol>]: { args: ArgsOf<M>; result: AnswerTo<M> };
} & {
  [M in ComparedMethod]: {
    args: { request: CompareRequest } & Said<Under<ComparedQuestion, M>>;
    result: Under<ComparedAnswer, M>;
  };
};

export type Method = keyof Protocol;
/** What no session is asked. */
export type HostMethod = keyof HostProtocol;
export type Args<M extends Method> = Protocol[M]["args"];
export type Result<M extends Method> = Protocol[M]["result"];

/**
 * A question to a worker. `generation` is the one whose call nodes the page knows: what asks by a call node of an older one is
 * refused, since the number now means another call.
 */
export interface Call {
  type: "call";
  id: number;
  method: string;
  args: unknown;
  generation: number;
}

/** WebAssembly: in streams, as the page has it in base64 (worker/packed_wasm.ts), or where `perftab view` has it whole. */
export type CarriedWasm = { packed: string } | { served: string };

/** Where `perftab view` says what it has at the paths of DSOs, and where each file is, with DSO for its number. */
export interface Trusted {
  list: string;
  file: string;
}

/** What the worker of a profile's images is made of. */
export interface CarriedImages {
  script: Blob;
  wasm: CarriedWasm;
}

/** Page to worker. `images` comes when the page has it; why it never will, in its place. */
export type Request =
  | { type: "start"; wasm: CarriedWasm }
  | { type: "images"; images: CarriedImages | string }
  | Call
  | { type: "cancel"; id: number };

/** Worker to page. */
export type Reply = { id: number; ok: unknown } | { id: number; error: SessionFailure } | { id: number; progress: Progress };
