// What crosses between the page and the worker that owns the session.
//
// Weights, counts and addresses are JavaScript numbers; what exceeds 2^53 is rounded by the session. Columns are typed
// arrays that were transferred, so each answer owns its memory. `ProfileInfo` and `DsoRow` keep the snake_case of
// `perftab info --json`, because they are that JSON. Structs and columns are
// generated from Rust; what is added here is the protocol around them.

import type {
  CallNodeDetail,
  CallTreeRows,
  ChangeRows,
  ChangesRequest,
  ComparedDetail,
  ComparedTreeRows,
  CompareSearch,
  CompareView,
  Coverage,
  DrawnComparison as ComparedGraph,
  DrawnGraph as FlameGraph,
  DrawnTimeOrder as TimeOrder,
  DsoPairRow,
  DsoRef,
  DsoRow,
  DsoUsers,
  ExportRequest,
  Failure as SessionFailure,
  FilteredCoverage,
  FlameWindow,
  ForceOutcome,
  FunctionRef,
  FunctionRows,
  GroupBy,
  HeatCell,
  HeatMap,
  HeatRequest,
  HotLines,
  MarkRows as Marks,
  NotUsed,
  Occurrence,
  OccurrenceRequest,
  PathPart,
  Place,
  ProfileInfo,
  Query as PartialQuery,
  RenameText as PartialRename,
  SandwichFacts,
  SearchResult,
  SharedLink,
  ShareOptions,
  ShownSamples,
  SideTotal,
  TaskRows,
  Timeline,
  TimelineRequest,
  TimeRange,
  TimeWindow,
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

export interface FunctionsOrder {
  key: "self" | "total" | "name" | "dso";
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
  dso: Pick<DsoRow, "name" | "identity" | "build_id">;
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

/** What a long call reports while it runs. `total` is absent where it is unknown. */
export interface Progress {
  stage: "reading" | "offering" | "naming" | "fetching" | "counting" | "writing";
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

/** A question about a comparison. */
interface ComparisonQuestion {
  request: CompareRequest;
  view: Required<CompareView>;
}

/** What a profile that was shared came in. */
export type Carrier = "link" | "page";

/** A call node and what is around it. */
export interface CallNodeAround {
  detail: CallNodeDetail;
  /** From the root to the call node, both included. */
  path: CallTreeRows;
  /** The nearest callees of its caller, itself among them; null for the root. */
  siblings: CallTreeRows | null;
  /** Heaviest first. */
  children: CallTreeRows;
}

/** What is said of a profile, and of the one beside it, when it opens and whenever names have changed. */
export interface Facts {
  info: ProfileInfo;
  coverage: Coverage;
  /** Changes whenever names do; ids of call nodes are of one generation. */
  generation: number;
  second: { info: ProfileInfo; coverage: Coverage } | null;
}

/** Method by method: what goes in and what comes back. */
export interface Protocol {
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
  openUrl: { args: { carrier: Carrier | null; parts: { url: string; size: number }[]; files: string }; result: Facts };
  openLink: { args: { payload: string }; result: Facts };
  /** Shows what has been read so far of what is being opened; null where that is nothing yet, or all of it. */
  readSoFar: { args: Record<string, never>; result: Facts | null };
  /** No more is read of what is being opened: it opens with what there is. */
  stopReading: { args: Record<string, never>; result: null };
  /**
   * What names change, for all that are open; and where call nodes of the generation that the page knows are now in the
   * query's tree: 0 for what is not there any more.
   */
  facts: { args: { query: Query; callNodes: number[] }; result: Facts & { callNodes: number[] } };
  info: { args: Record<string, never>; result: ProfileInfo };
  dsos: { args: Record<string, never>; result: DsoRow[] };
  /** The same of what the filters and steps of a query leave. */
  filteredCoverage: { args: { query: Query }; result: FilteredCoverage };
  /** Who ran DSOs, and when: a pass over all samples, so it is asked of those that somebody looks at, together. */
  dsoUsers: { args: { dsos: number[] }; result: DsoUsers[] };
  coverage: { args: Record<string, never>; result: Coverage };
  /** Changes whenever names do; ids of call nodes are of one generation. */
  generation: { args: Record<string, never>; result: number };
  admit: { args: { files: File[] }; result: DropReport };
  /** Names one DSO from a file that is not the one that ran. */
  force: { args: { dso: number; file: File }; result: ForceOutcome };
  /** Those that came with a link stay. */
  unforce: { args: { dso: number }; result: null };
  /** Whose code a DSO counts as: the user's own, or what its folder says. */
  countAs: { args: { dso: number; countedAs: "own" | "by-folder" }; result: null };
  /** What comes gives its names with `nameFrames`. */
  fetchDebuginfod: { args: FetchRequest; result: FetchOutcome };
  /** Names the code of files that were fetched since. Until then views have the names that they had. */
  nameFrames: { args: Record<string, never>; result: null };
  flameGraph: { args: { query: Query; window: FlameWindow }; result: FlameGraph };
  /** With at most so many callees, and callers' other callees beside it; null if there is no such call node (any more). */
  callNode: { args: { query: Query; callNode: number; most: number }; result: CallNodeAround | null };
  /** The same of the call node alone. */
  callNodeDetail: { args: { query: Query; callNode: number }; result: CallNodeDetail | null };
  /** Who ran a call node or a function, and when, in a list of one; empty if there is none (any more). */
  occurrence: { args: { query: Query; request: OccurrenceRequest }; result: Occurrence[] };
  /** Where a call node of an older generation is now; its place is what its detail said then. */
  findCallNode: { args: { query: Query; place: Place }; result: number };
  /** Heaviest first; all of them, or those at the places `from` to before `to`. */
  callTreeChildren: { args: { query: Query; callNode: number; from?: number; to?: number }; result: CallTreeRows };
  /** From the root to a call node, both included. */
  callTreePath: { args: { query: Query; callNode: number }; result: CallTreeRows };
  functions: { args: { query: Query; order: FunctionsOrder; groupBy?: GroupBy; from: number; to: number }; result: FunctionRows };
  /** `window` counts in nanoseconds since the first time of the recording. */
  timeOrder: { args: { query: Query; window: TimeWindow }; result: TimeOrder };
  /** The band between a function's callers and callees, which are trees of a query with `around`; null if no sample has it. */
  sandwich: { args: { query: Query; function: FunctionRef }; result: SandwichFacts | null };
  /** Where in a function's own code samples ended; null if no sample has it. */
  hotLines: { args: { query: Query; function: FunctionRef }; result: HotLines | null };
  search: { args: { query: Query; text: string }; result: SearchResult };
  /** What the filters and steps of a query leave, and what each takes away. */
  shown: { args: { query: Query }; result: ShownSamples };
  /** What a function is called in queries; null if there is none of this number. */
  functionRef: { args: { functionId: number }; result: FunctionRef | null };
  dsoRef: { args: { dso: number }; result: DsoRef | null };
  /** The way from the root to a call node, as steps of a query have it; the root is left out. */
  callNodePath: { args: { query: Query; callNode: number }; result: PathPart[] };
  /** Every process, thread and CPU that has samples of an event. */
  tasks: { args: { event: number }; result: TaskRows };
  /** What ran when: what the query's filters and steps leave, whatever its range. */
  timeline: { args: { query: Query; request: TimelineRequest }; result: Timeline };
  heatMap: { args: { query: Query; request: HeatRequest }; result: HeatMap };
  /** What was sampled from a time on and before another. */
  heatCell: { args: { query: Query; start: number; end: number }; result: HeatCell };
  marks: { args: { start: number; end: number }; result: Marks };
  /**
   * The flame graph of the query with this range instead of its own, while a range is dragged: at once after the first. Its
   * root is the call node that `window.root` is in `query`; its call nodes are of no tree. Totals are exact, but what is
   * narrow in the whole recording is left to its caller.
   */
  rangePreview: { args: { query: Query; range: TimeRange; window: FlameWindow }; result: FlameGraph };
  /** Opens a recording beside the one that is open: it takes the place of another such. */
  openSecond: { args: { parts: File[] }; result: ProfileInfo };
  openSecondUrl: { args: Args<"openUrl">; result: ProfileInfo };
  /** What each side has in all: before, after. */
  comparedSides: { args: { request: CompareRequest }; result: [SideTotal, SideTotal] };
  comparedGraph: { args: ComparisonQuestion & { window: FlameWindow }; result: ComparedGraph };
  /** null if there is no such call node in this comparison. */
  comparedDetail: { args: ComparisonQuestion & { callNode: number }; result: ComparedDetail | null };
  /** Those with most weight on both sides first; at most so many. */
  comparedChildren: { args: ComparisonQuestion & { callNode: number; most: number }; result: ComparedTreeRows };
  comparedChanges: { args: ComparisonQuestion & { rows: Required<ChangesRequest> }; result: ChangeRows };
  comparedDsos: { args: ComparisonQuestion; result: DsoPairRow[] };
  comparedSearch: { args: ComparisonQuestion & { text: string }; result: CompareSearch };
  share: { args: ShareRequest; result: Shared };
  /** No more links are wanted for now. */
  endSharing: { args: Record<string, never>; result: null };
  /** A file of another tool. */
  export: { args: { request: ExportRequest }; result: Blob };
  /** What such a file cannot hold of this profile, in sentences: for each of several. */
  exportLimits: { args: { requests: ExportRequest[] }; result: string[][] };
  /** Why a pattern cannot rename, as a sentence; null if it can. */
  renameProblem: { args: { pattern: string }; result: string | null };
  /** Bytes of the worker's wasm memory. */
  memory: { args: Record<string, never>; result: number };
}

export type Method = keyof Protocol;
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

/**
 * Page to worker. `script` is the worker's own, and `wasm` the session's code, gzip in base64, as the page holds them.
 */
export type Request = { type: "start"; script: string; wasm: string } | Call | { type: "cancel"; id: number };

/** Worker to page. */
export type Reply = { id: number; ok: unknown } | { id: number; error: SessionFailure } | { id: number; progress: Progress };
