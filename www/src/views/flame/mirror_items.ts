// The part of the call tree that assistive technology is told about: the path to the selection, its siblings and its
// children, in the order of a tree that is open along the path. At most 200 items whatever the graph's size.

import type { CallNodeDetail, CallTreeRows } from "../../session/types.ts";
import { STATUS } from "../../ledger/status.tsx";
import { isForced, spokenName } from "../forced_name.tsx";
import { countSamples, spokenShare } from "../words.ts";

const MOST_ANCESTORS = 40;
const MOST_SIBLINGS = 80;
const MOST_CHILDREN = 80;

export interface MirrorItem {
  key: string;
  label: string;
  level: number;
  posInSet: number;
  setSize: number;
  expanded: boolean | null;
  selected: boolean;
}

export interface MirrorData {
  detail: CallNodeDetail;
  siblings: CallTreeRows | null;
  children: CallTreeRows;
  /** The weight that shares are of. */
  whole: number;
}

/** The spoken name of the selection: "longest_match, libz.so.1.3.1, matched, total 7.8 percent, …". */
export function selectionLabel(detail: CallNodeDetail, whole: number): string {
  const status = isForced(detail.flags) ? "forced" : detail.dsoStatus;
  return [
    detail.name,
    detail.dso ?? "",
    status === null ? "" : STATUS[status].word.toLowerCase(),
    detail.inlined ? "inlined" : "",
    `total ${spokenShare(detail.totalWeight, whole)}`,
    `self ${spokenShare(detail.selfWeight, whole)}`,
    countSamples(detail.totalSamples),
  ]
    .filter((part) => part !== "")
    .join(", ");
}

export function mirrorItems({ detail, siblings, children, whole }: MirrorData): MirrorItem[] {
  const selected: MirrorItem = {
    key: `node-${detail.callNode}`,
    label: selectionLabel(detail, whole),
    level: levelOf(detail),
    posInSet: detail.posInSet,
    setSize: detail.setSize,
    expanded: detail.childCount > 0 ? true : null,
    selected: true,
  };
  const below = rowItems(children, 0, MOST_CHILDREN, levelOf(detail) + 1, whole);
  return [...pathItems(detail), ...around(detail, siblings, [selected, ...below], whole)];
}

/** Levels are counted from 1, which is the root. */
function levelOf(detail: CallNodeDetail): number {
  return detail.depth + 1;
}

function pathItems(detail: CallNodeDetail): MirrorItem[] {
  const above = detail.path.slice(0, -1);
  const first = Math.max(0, above.length - MOST_ANCESTORS);
  return above.slice(first).map((name, i) => ({
    key: `above-${first + i}`,
    label: spokenName(name, detail.pathFlags[first + i] ?? 0),
    level: levelOf(detail) - (above.length - first - i),
    posInSet: 0,
    setSize: 0,
    expanded: true,
    selected: false,
  }));
}

/** The selection and what is under it, between its siblings. */
function around(
  detail: CallNodeDetail,
  siblings: CallTreeRows | null,
  selection: MirrorItem[],
  whole: number,
): MirrorItem[] {
  const at = siblings ? siblings.callNode.indexOf(detail.callNode) : -1;
  if (!siblings || at < 0) {
    return selection;
  }
  const from = Math.max(0, at - MOST_SIBLINGS / 2);
  return [
    ...rowItems(siblings, from, at, levelOf(detail), whole),
    ...selection,
    ...rowItems(siblings, at + 1, at + MOST_SIBLINGS / 2, levelOf(detail), whole),
  ];
}

function rowItems(rows: CallTreeRows, from: number, to: number, level: number, whole: number): MirrorItem[] {
  const items: MirrorItem[] = [];
  const setSize = rows.callNode.length;
  for (let i = from; i < Math.min(to, setSize); i++) {
    items.push({
      key: `node-${rows.callNode[i]}`,
      label: [
        rows.names[i] ?? "",
        rows.dsos[i] ?? "",
        isForced(rows.flags[i] as number) ? "forced" : "",
        `total ${spokenShare(rows.total[i] as number, whole)}`,
        `self ${spokenShare(rows.self[i] as number, whole)}`,
      ]
        .filter((part) => part !== "")
        .join(", "),
      level,
      posInSet: i + 1,
      setSize,
      expanded: (rows.childCount[i] as number) > 0 ? false : null,
      selected: false,
    });
  }
  return items;
}
