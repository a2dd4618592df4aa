// Finding boxes in a laid-out flame graph: by point, by call node, and the
// neighbours that keys move to. Rows are sorted by `start`, so a point costs
// one division and one binary search; nothing here looks at colours.

import type { FlameGraph } from "../../session/types.ts";
import type { Callee } from "../hottest.ts";
import { hottestCallee, selfOf } from "../hottest.ts";

export const NO_BOX = -1;
/** In `FlameGraph.callNode`: the box stands for several call nodes. */
export const FOLDED = 0xffffffff;

type Rows = Pick<FlameGraph, "depths" | "rowStart" | "start" | "end">;

/** Last index in [from, to) whose value is ≤ x, or from - 1. */
export function lastAtMost(values: Float32Array, from: number, to: number, x: number): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((values[middle] as number) <= x) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low - 1;
}

/** First index in [from, to) whose value is > x, or to. */
export function firstAbove(values: Float32Array, from: number, to: number, x: number): number {
  return lastAtMost(values, from, to, x) + 1;
}

/** First and one-past-last box of a row. An absent row is empty. */
export function rowRange(graph: Rows, row: number): [number, number] {
  if (row < 0 || row >= graph.depths) {
    return [0, 0];
  }
  return [graph.rowStart[row] as number, graph.rowStart[row + 1] as number];
}

/** The box of `row` at `x` in layout pixels; folded boxes count. */
export function boxAt(graph: Rows, row: number, x: number): number {
  const [from, to] = rowRange(graph, row);
  const box = lastAtMost(graph.start, from, to, x);
  return box >= from && x < (graph.end[box] as number) ? box : NO_BOX;
}

/** In CSS pixels of the layout. */
const SAME_EDGE = 1;

/** The box of a row that has these edges, but for as much as two layouts of one tree may differ by; or NO_BOX. */
export function boxWithEdges(graph: Rows, row: number, start: number, end: number): number {
  const box = row < graph.depths ? boxAt(graph, row, (start + end) / 2) : NO_BOX;
  const isNear = (column: Float32Array, edge: number): boolean => Math.abs((column[box] as number) - edge) < SAME_EDGE;
  return box !== NO_BOX && isNear(graph.start, start) && isNear(graph.end, end) ? box : NO_BOX;
}

/** The row that holds a box. */
export function rowOf(graph: Rows, box: number): number {
  let low = 0;
  let high = graph.depths;
  while (low + 1 < high) {
    const middle = (low + high) >>> 1;
    if ((graph.rowStart[middle] as number) <= box) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

/** The box drawn for a call node, or NO_BOX if it is folded or out of the root. */
export function boxOfCallNode(graph: Pick<FlameGraph, "callNode">, callNode: number): number {
  return graph.callNode.indexOf(callNode);
}

/** The heaviest box that is one call of a function, or NO_BOX if it has none wide enough. */
export function heaviestOfFunction(graph: Pick<FlameGraph, "callNode" | "functionId" | "total">, functionId: number): number {
  let best = NO_BOX;
  for (let box = graph.functionId.indexOf(functionId); box >= 0; box = graph.functionId.indexOf(functionId, box + 1)) {
    const isHeavier = best === NO_BOX || (graph.total[box] as number) > (graph.total[best] as number);
    if (isHeavier && graph.callNode[box] !== FOLDED) {
      best = box;
    }
  }
  return best;
}

function middle(graph: Rows, box: number): number {
  return ((graph.start[box] as number) + (graph.end[box] as number)) / 2;
}

/** The box above, or NO_BOX at the root. */
export function parentBox(graph: Rows, box: number): number {
  return boxAt(graph, rowOf(graph, box) - 1, middle(graph, box));
}

/** First and one-past-last child box. */
export function childRange(graph: Rows, box: number): [number, number] {
  const [from, to] = rowRange(graph, rowOf(graph, box) + 1);
  const left = graph.start[box] as number;
  const right = graph.end[box] as number;
  // A child may begin a rounding error before its parent: its middle decides.
  let first = firstAbove(graph.end, from, to, left);
  while (first < to && middle(graph, first) < left) {
    first++;
  }
  let last = first;
  while (last < to && middle(graph, last) < right) {
    last++;
  }
  return [first, last];
}

/** The widest child that is one call node, else the widest of several, else NO_BOX. */
export function widestChild(graph: FlameGraph, box: number): number {
  const [from, to] = childRange(graph, box);
  let best = from < to ? from : NO_BOX;
  for (let child = from + 1; child < to; child++) {
    const isOne = graph.callNode[child] !== FOLDED;
    const bestIsOne = graph.callNode[best] !== FOLDED;
    const isHeavier = (graph.total[child] as number) > (graph.total[best] as number);
    if (isOne === bestIsOne ? isHeavier : isOne) {
      best = child;
    }
  }
  return best;
}

/** The next box to the left (-1) or right (+1) under the same parent. */
export function siblingBox(graph: FlameGraph, box: number, step: -1 | 1): number {
  const parent = parentBox(graph, box);
  if (parent === NO_BOX) {
    return NO_BOX;
  }
  const [from, to] = childRange(graph, parent);
  const next = box + step;
  return next >= from && next < to ? next : NO_BOX;
}

/** Where the hottest path from a box ends. */
export const hottestBox = (graph: FlameGraph, from: number): number => hottestPath(graph, from).at(-1) ?? from;

/** The hottest path from a box, which is its first. */
export function hottestPath(graph: FlameGraph, from: number): number[] {
  const path = [from];
  const start = graph.total[from] as number;
  for (let next: number | null = from; next !== null; ) {
    next = hottestCallee(graph.total[next] as number, callees(graph, next), start, graph.allTotal);
    if (next !== null) {
      path.push(next);
    }
  }
  return path;
}

/** What a call's box does not have in common with those of its callees. */
export const boxSelf = (graph: FlameGraph, box: number): number => selfOf(graph.total[box] as number, callees(graph, box));

function callees(graph: FlameGraph, box: number): Callee[] {
  const [from, to] = childRange(graph, box);
  return Array.from({ length: to - from }, (_, at) => {
    const child = from + at;
    return { place: graph.callNode[child] === FOLDED ? null : child, weight: graph.total[child] as number };
  });
}
