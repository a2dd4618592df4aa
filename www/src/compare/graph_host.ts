// The graph of both sides: the page's flame graph, asked of a comparison and coloured by change.

import { computed } from "@preact/signals";
import type { ComparedGraph, FlameWindow, Query } from "../session/types.ts";
import { ALL, NONE } from "../session/types.ts";
import { event } from "../state/app.ts";
import type { Colouring } from "../views/flame/colouring.ts";
import type { GraphHost, Layout } from "../views/flame/host.ts";
import { treeLayout, treePx, treeWindow, treeZoom } from "../views/flame/host.ts";
import { comparedSelection, comparedZoom, comparing, compareView, request } from "./state.ts";
import { amount, difference } from "./words.ts";

/** Stands for the trees that are compared: another object whenever they are others. */
const identity = computed<Query | null>(() => (request.value === null ? null : { ...request.value.after.query }));

export const COMPARED_GRAPH: GraphHost = {
  ...treeZoom((callNode) => {
    comparedZoom.value = callNode;
  }),
  query: identity,
  selection: comparedSelection,
  menu: "none",
  layout: (canvas) => layoutOf(treeWindow(comparedZoom.value, treePx(canvas))),
  map: (widthPx) => layoutOf({ ...treeWindow(ALL, widthPx), minPx: 1 }),
  colouring: (graph) => colouringOf(graph as ComparedGraph),
  about: async (session, callNode, options) => {
    const asked = request.peek();
    const view = compareView.peek();
    return asked === null ? null : session.call("comparedDetail", { request: asked, view, callNode }, options);
  },
  cost: (graph, box) => costOf(graph as ComparedGraph, box),
};

function layoutOf(window: FlameWindow): Layout | null {
  const [asked, tree, view] = [request.value, identity.value, compareView.value];
  if (asked === null || tree === null) {
    return null;
  }
  return treeLayout(tree, window, async (session, options) =>
    nameRoot(await session.call("comparedGraph", { request: asked, view, window }, options), view.width),
  );
}

/** The root says whose widths these are. */
function nameRoot(graph: ComparedGraph, width: "before" | "after" | "both"): ComparedGraph {
  const label = graph.callNode[0] === ALL ? (graph.label[0] ?? NONE) : NONE;
  if (label !== NONE) {
    graph.labels[label] = `all · ${width}`;
  }
  return graph;
}

function colouringOf(graph: ComparedGraph): Colouring {
  const basis = comparing.value?.basis ?? "share";
  const name = event.value?.name ?? "";
  return {
    by: "change",
    steps: graph.step,
    presence: graph.presence,
    absent: comparing.value?.width === "both" ? "hatched" : "plain",
    words: (box) => {
      const width = amount(graph.total[box] as number, basis, name);
      const change = (graph.after[box] as number) - (graph.before[box] as number);
      return graph.step[box] === 0 ? width : `${difference(change, basis, name)} · ${width}`;
    },
  };
}

/** "before 2.7 %, after 5.9 %" */
export function costOf(graph: Pick<ComparedGraph, "before" | "after">, box: number): string {
  const basis = comparing.peek()?.basis ?? "share";
  const name = event.peek()?.name ?? "";
  const [before, after] = [graph.before[box] as number, graph.after[box] as number];
  return `before ${amount(before, basis, name)}, after ${amount(after, basis, name)}`;
}
