// What assistive technology is told of a thread's stacks along time: the box that keys are on, those above it, beside it
// and below it, in the order of a tree that is open along the path. At most 200 items.

import { dsos } from "../../state/app.ts";
import type { DsoStatus, FlameGraph, TimeOrder } from "../../session/types.ts";
import { Flag } from "../../session/types.ts";
import { STATUS } from "../../ledger/status.tsx";
import { isForced } from "../forced_name.tsx";
import { childRange, NO_BOX, parentBox, rowOf, rowRange } from "../flame/hit_test.ts";
import type { MirrorItem } from "../flame/mirror_items.ts";
import type { LaidOutGraph } from "../flame/stage.ts";
import type { TreeNeighbours } from "../flame/tree_mirror.ts";
import { severalCalls } from "../words.ts";
import type { TimeSpan } from "../../timeline/time_window.ts";
import { spanOf } from "./time_host.ts";
import { timeSpan } from "./time_words.ts";
import { countSamples } from "../../state/format.ts";

const MOST_ABOVE = 38;
const MOST_BESIDE = 80;
const MOST_BELOW = 80;

interface Dso {
  name: string;
  status: DsoStatus;
}

interface BoxNames {
  whole: TimeSpan;
  dsoOf: (id: number) => Dso | undefined;
  /** By call node: boxes too narrow for a label come without. */
  names: ReadonlyMap<number, string>;
}

/** "longest_match, libz.so.1.3.1, matched, 1.204 s to 1.310 s, 106 ms, 104 samples" */
export function spokenBox(laid: LaidOutGraph, box: number, { whole, dsoOf, names }: BoxNames): string {
  const { graph } = laid;
  const flags = graph.flags[box] as number;
  const several = graph.folded[box] as number;
  const name = graph.labels[graph.label[box] as number] ?? names.get(graph.callNode[box] as number) ?? "";
  const dso = dsoOf(graph.dso[box] as number);
  return [
    several > 0 ? severalCalls(several, name, graph.kind[box] as number) : name === "" ? "narrow frame" : name,
    dso?.name ?? "",
    isForced(flags) ? "forced" : dso === undefined ? "" : STATUS[dso.status].word.toLowerCase(),
    flags & Flag.Inlined ? "inlined" : "",
    timeSpan(spanOf(laid, box, whole)),
    countSamples((graph as TimeOrder).samples[box] ?? 0),
  ]
    .filter((part) => part !== "")
    .join(", ");
}

export function timeMirrorItems(
  laid: LaidOutGraph,
  selected: number,
  whole: TimeSpan,
  around: TreeNeighbours | null,
): MirrorItem[] {
  const { graph } = laid;
  if (graph.depths === 0) {
    return [];
  }
  const rows = new Map(dsos.value.map((row) => [row.id, row]));
  const known = around === null ? [] : [around.path, around.children, ...(around.siblings === null ? [] : [around.siblings])];
  const names = new Map(known.flatMap((calls) => calls.names.map((name, at) => [calls.callNode[at] as number, name] as const)));
  const knowledge = { whole, names, dsoOf: (id: number) => rows.get(id) };
  const on = selected === NO_BOX ? 0 : selected;
  const item = (box: number, expanded: boolean | null): MirrorItem => {
    const [from, to] = siblings(graph, box);
    return {
      key: `box-${box}`,
      label: spokenBox(laid, box, knowledge),
      level: rowOf(graph, box) + 1,
      posInSet: box - from + 1,
      setSize: to - from,
      expanded,
      selected: box === selected,
    };
  };
  const has = (box: number): boolean => {
    const [from, to] = childRange(graph, box);
    return to > from;
  };
  const above: number[] = [];
  for (let box = parentBox(graph, on); box !== NO_BOX && above.length < MOST_ABOVE; box = parentBox(graph, box)) {
    above.unshift(box);
  }
  const [first, last] = siblings(graph, on);
  const [child, pastChild] = childRange(graph, on);
  const closed = (from: number, to: number): MirrorItem[] =>
    Array.from({ length: Math.max(0, to - from) }, (_, i) => item(from + i, has(from + i) ? false : null));
  return [
    ...above.map((box) => item(box, true)),
    ...closed(Math.max(first, on - MOST_BESIDE / 2), on),
    item(on, pastChild > child ? true : null),
    ...closed(child, Math.min(pastChild, child + MOST_BELOW)),
    ...closed(on + 1, Math.min(last, on + 1 + MOST_BESIDE / 2)),
  ];
}

function siblings(graph: FlameGraph, box: number): [number, number] {
  const parent = parentBox(graph, box);
  return parent === NO_BOX ? rowRange(graph, rowOf(graph, box)) : childRange(graph, parent);
}
