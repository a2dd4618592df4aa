// What a graph is of, and what becomes of what is chosen in it. The flame graph of the page is one; callers and callees
// of a function are two more, each with a tree, a zoom and a selection of its own.

import type { ReadonlySignal, Signal } from "@preact/signals";
import type { Query } from "../../session/types.ts";
import type { Selection } from "../../state/app.ts";
import { query, selection, zoomRoot } from "../../state/app.ts";
import { zoomTo } from "../../state/history.ts";
import { flow } from "../options.ts";
import type { Flow } from "./scene.ts";

export interface GraphHost {
  /** Whose tree it is; null while there is none. */
  readonly query: ReadonlySignal<Query | null>;
  /** The call node that fills the width. */
  readonly root: ReadonlySignal<number>;
  readonly selection: Signal<Selection | null>;
  readonly flow: ReadonlySignal<Flow>;
  /** Makes a call node fill the width; whoever has no zoom does nothing. */
  zoomTo(callNode: number): void;
  /** What Enter and a double click on a call do. */
  enter(callNode: number, functionId: number | null): void;
}

/** The flame graph of the page. */
export const PAGE_GRAPH: GraphHost = { query, root: zoomRoot, selection, flow, zoomTo, enter: zoomTo };
