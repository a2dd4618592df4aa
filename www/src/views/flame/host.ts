// What a graph is of, and what becomes of what is chosen in it. The flame graph of the page is one; callers and callees
// of a function, and a thread's stacks along time, are others, each with a selection and a zoom of its own.

import type { ReadonlySignal, Signal } from "@preact/signals";
import type { CallOptions, Session } from "../../session/client.ts";
import type { FlameGraph, FlameWindow, Query, TimeRange } from "../../session/types.ts";
import { ALL, NONE } from "../../session/types.ts";
import type { Selection } from "../../state/app.ts";
import { draggedRange, query, search, selection, zoomRoot } from "../../state/app.ts";
import { zoomTo } from "../../state/history.ts";
import { enterCall } from "../query_steps.ts";
import { LEAST_SHARE } from "../hottest.ts";
import { flow } from "../options.ts";
import type { Colouring } from "./colouring.ts";
import { boxOfCallNode, NO_BOX } from "./hit_test.ts";
import type { CardAbout } from "./hover.ts";
import type { Flow } from "./scene.ts";
import type { LaidOutGraph } from "./stage.ts";
import type { Sight, View } from "./zoom.ts";
import { WHOLE } from "./zoom.ts";

/** Calls narrower than this many CSS pixels are folded. */
export const FOLD_BELOW_PX = 0.5;

/** What a graph is laid out for. */
export interface Canvas {
  /** CSS pixels. */
  width: number;
  /** What is, or is being, moved on screen: a signal, since not every host asks again when it moves. */
  target: ReadonlySignal<View>;
  /** How many screens wide a layout of the whole should be: changes less often. */
  screens: ReadonlySignal<number>;
  /** What is on screen and answers the present query; null if nothing does. */
  present: LaidOutGraph | null;
}

/** A layout to ask for. */
export interface Layout {
  /** Whose call nodes the boxes stand for. */
  query: Query;
  layoutPx: number;
  /** What of the whole it is. */
  part: View;
  searching: boolean;
  /** What else the answer depends on: one with another key is another graph. */
  key: string;
  ask: (session: Session, options: CallOptions) => Promise<Answer>;
}

export interface Answer {
  graph: FlameGraph;
  /** The call node that fills the width. */
  root: number;
}

export interface GraphHost {
  readonly selection: Signal<Selection | null>;
  readonly flow: ReadonlySignal<Flow>;
  /** The query whose call nodes are shown; null while there is nothing to show. */
  readonly query: ReadonlySignal<Query | null>;
  /** What of the whole is on screen, where others show it as well; else the graph has its own. */
  readonly sight?: Sight;
  /** Whose selections it brings into sight, where it shares that; all, unless said. */
  readonly follows?: "all" | "own";
  /** What the colours of a graph tell, where that is not what the user chose for the page's graph. */
  colouring?(graph: FlameGraph): Colouring;
  /** What the card says of a call, and what the status line says of a box, where those are not of one profile. */
  about?(session: Session, callNode: number, options: CallOptions): Promise<CardAbout | null>;
  cost?(graph: FlameGraph, box: number): string;
  /** What to ask for, or null to keep what is there. Reads signals: it is asked again when they change. */
  layout(canvas: Canvas): Layout | null;
  /** All of it, for the map above the graph; null where there is none. */
  map(widthPx: number): Layout | null;
  /** What of the map, 0 to 1, is on screen. */
  seen(all: FlameGraph, laid: LaidOutGraph, view: View): [number, number];
  /** Makes a call node fill the width, where the host has such a zoom. */
  zoomTo(callNode: number): void;
  /** What Enter and a double click on a call do; `at` is where its box lies. */
  enter(call: { callNode: number; functionId: number | null }, at: View): void;
  /** What the card says of a box beyond what it says of its call. */
  note(laid: LaidOutGraph, box: number): string;
  /** Whether the menu of transforms, which acts on the page's selection, opens here. */
  readonly menu: "transforms" | "none";
  /** What Backspace does when there is nothing to go back to in the root. */
  outOne(above: readonly number[]): void;
}

/** The window of a layout of a tree's part below `root`. */
export function treeWindow(root: number, layoutPx: number): FlameWindow {
  // On a phone, too, a call that the hottest path may lead to has a box of its own, whatever rounding does to its width.
  const minPx = Math.min(FOLD_BELOW_PX, layoutPx * LEAST_SHARE * 0.999);
  return { root, widthPx: layoutPx, minPx, search: search.value };
}

/** The width of a layout that holds all of a tree's root, wide enough for how much of it is on screen. */
export function treePx({ width, screens }: Canvas): number {
  return Math.round(width * screens.value);
}

/** What of a whole tree, 0 to 1, is on screen. */
export function seenOfTree(all: FlameGraph, laid: LaidOutGraph, view: View): [number, number] {
  // A root too narrow for a box of its own is marked by the nearest one above it.
  const wanted = [laid.root, ...laid.graph.path.map((each) => each.callNode).reverse()];
  const box = wanted.map((callNode) => boxOfCallNode(all, callNode)).find((each) => each !== NO_BOX) ?? 0;
  const whole = (all.end[0] ?? 0) - (all.start[0] ?? 0);
  if (whole <= 0) {
    return [0, 1];
  }
  const start = (all.start[box] as number) / whole;
  const width = ((all.end[box] as number) - (all.start[box] as number)) / whole;
  return [start + view.left * width, start + (view.left + view.span) * width];
}

/** A layout of all below the root of a window. */
export function treeLayout(
  query: Query,
  window: FlameWindow,
  ask: (session: Session, options: CallOptions) => Promise<FlameGraph>,
): Layout {
  return {
    query,
    layoutPx: window.widthPx,
    part: WHOLE,
    searching: window.search !== "",
    key: "",
    ask: async (session, options) => ({ graph: await ask(session, options), root: window.root }),
  };
}

/** What every host has whose graph is a whole tree, of which `zoomTo` makes a call node fill the width. */
export function treeZoom(zoomTo: (callNode: number) => void) {
  return {
    flow,
    seen: seenOfTree,
    zoomTo,
    enter: ({ callNode }) => zoomTo(callNode),
    note: () => "",
    outOne: (above) => zoomTo(above.at(-1) ?? ALL),
  } satisfies Partial<GraphHost>;
}

/**
 * The graph of a range that is being dragged, below the call that fills the width. Its call nodes have no numbers that
 * anything else knows: none can be selected until the drag ends.
 */
function preview(canvas: Canvas, asked: Query, range: TimeRange): Layout {
  const window = treeWindow(zoomRoot.value, treePx(canvas));
  // A query that nobody asks: nothing can be chosen by its call nodes.
  return treeLayout({ ...asked, range }, window, async (session, options) => {
    const graph = await session.call("rangePreview", { query: asked, range, window }, options);
    graph.callNode.fill(NONE, 1);
    // What fills the width is the same call, whatever number the tree of the range gives it.
    graph.callNode[0] = window.root;
    const last = graph.path.at(-1);
    if (last) {
      last.callNode = window.root;
    }
    return graph;
  });
}

/** The flame graph of a query, as the page shows it when nothing is dragged. */
function whole(asked: Query, window: FlameWindow): Layout {
  return treeLayout(asked, window, (session, options) => session.call("flameGraph", { query: asked, window }, options));
}

/** The flame graph of the page. */
export const PAGE_GRAPH: GraphHost = {
  ...treeZoom(zoomTo),
  enter({ callNode, functionId }) {
    if (functionId === null) {
      void enterCall(callNode);
    } else {
      zoomTo(callNode);
    }
    return null;
  },
  query,
  selection,
  menu: "transforms",
  layout(canvas) {
    const asked = query.value;
    const range = draggedRange.value;
    return range === null ? whole(asked, treeWindow(zoomRoot.value, treePx(canvas))) : preview(canvas, asked, range);
  },
  map: (widthPx) => whole(query.value, { ...treeWindow(ALL, widthPx), minPx: 1 }),
};
