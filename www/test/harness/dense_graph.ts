// A graph with as much on a screen of 2,560 by 1,100 as the budget names: 20,000 boxes, 3,000 labels.

import type { FlameGraph, FlameWindow } from "../../src/session/types.ts";
import { NONE } from "../../src/session/types.ts";
import { random } from "./random_tree.ts";

const ROWS = 50;
const LABELLED = 60;
const NARROW = 340;

export function denseGraph(window: FlameWindow): FlameGraph {
  const next = random(1);
  const perRow = LABELLED + NARROW;
  const count = 1 + ROWS * perRow;
  const boxes = Array.from({ length: count - 1 }, (_, i) => i % perRow);
  const wide = (window.widthPx * 0.7) / LABELLED;
  const narrow = (window.widthPx * 0.3) / NARROW;
  const start = boxes.map((at) => (at < LABELLED ? at * wide : LABELLED * wide + (at - LABELLED) * narrow));
  const end = boxes.map((at, i) => (start[i] ?? 0) + (at < LABELLED ? wide : narrow));
  const kinds = Uint8Array.from({ length: count }, () => 1 + Math.floor(next() * 5));
  return {
    depths: ROWS + 1,
    rowStart: Uint32Array.from({ length: ROWS + 2 }, (_, row) => (row === 0 ? 0 : 1 + (row - 1) * perRow)),
    start: Float32Array.from([0, ...start]),
    end: Float32Array.from([window.widthPx, ...end]),
    callNode: Uint32Array.from({ length: count }, (_, i) => i),
    folded: new Uint32Array(count),
    kind: kinds,
    shade: kinds.map((_, i) => i % 3),
    flags: new Uint8Array(count),
    functionId: Uint32Array.from({ length: count }, (_, i) => i % 500),
    dso: Uint32Array.from({ length: count }, (_, i) => i % 9),
    label: Uint32Array.from([0, ...boxes.map((at, i) => (at < LABELLED ? i % 500 : NONE))]),
    labels: Array.from({ length: 500 }, (_, i) => `some_function_with_number_${i}`),
    total: new Float64Array(count).fill(1000),
    self: Float64Array.from({ length: count }, (_, i) => (i % 120) * 1000),
    path: [],
    rootTotal: 1e6,
    rootSamples: 1e6,
    allTotal: 1e6,
    allSamples: 100,
    generation: 0,
  };
}
