// What a query says beyond the tree that it wants. Times are nanoseconds since the first time of the recording.

/** Half-open: `start` is in it, `end` is not. */
export interface TimeRange {
  start: number;
  end: number;
  side: "inside" | "outside";
}

export interface DsoRef {
  path: string;
  buildId: string | null;
}

/** A function by its name, or by where it lies ("0x1b8f70"): the same after names arrive, and in a link. */
export interface FunctionRef {
  dso: DsoRef;
  name: string | null;
  address: string | null;
}

/** One step of the way to a call node. */
export type PathPart =
  | { kind: "process" | "thread"; name: string }
  | { kind: "function" | "inlined"; function: FunctionRef }
  | { kind: "dso"; dso: DsoRef }
  | { kind: "no-mapping" };

export type Transform =
  | { kind: "merge" | "focus" | "drop" | "collapse-function"; function: FunctionRef }
  | { kind: "merge-call-node" | "focus-subtree"; path: PathPart[]; direction: "callees" | "inverted" }
  | { kind: "collapse-dso"; dso: DsoRef }
  | { kind: "collapse-recursion" }
  | { kind: "search"; text: string };

export interface Around {
  function: FunctionRef;
  side: "callers" | "callees";
}

export interface Filters {
  range: TimeRange | null;
  processes: number[];
  threads: number[];
  cpus: number[];
  comms: string[];
  dsos: DsoRef[];
  steps: Transform[];
  around: Around | null;
}
