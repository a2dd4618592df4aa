// The part of the call tree that assistive technology is told about: the path to the selection, its siblings and its
// children, in the order of a tree that is open along the path. At most 200 items whatever the graph's size.

import type { CallTreeRows, DsoStatus } from "../../session/types.ts";
import { ALL, Flag, Kind } from "../../session/types.ts";
import { STATUS } from "../../ledger/status.tsx";
import { isForced } from "../forced_name.tsx";
import { spokenShare } from "../words.ts";
import { MOST_SPOKEN } from "../../state/detail.ts";
import { countSamples } from "../../state/format.ts";

const MOST_ANCESTORS = 38;

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
  /** From the root to the call that the keys are on. */
  path: CallTreeRows;
  /** That and its siblings; null for the root. */
  siblings: CallTreeRows | null;
  children: CallTreeRows;
  /** Where keys are on a box of several calls below that: its words. */
  several: string | null;
  /** Whether anything is selected: if not, the tree is told about all the same. */
  selected: boolean;
  /** The weight that shares are of. */
  whole: number;
  /** Of a DSO, by its number in the ledger. */
  statusOf: (dso: number) => DsoStatus | null;
}

/** A call as it is spoken: "longest_match, libz.so.1.3.1, matched, total 7.8 percent, self 7.8 percent, 7,482 samples". */
export function spokenCall(rows: CallTreeRows, at: number, { whole, statusOf }: Pick<MirrorData, "whole" | "statusOf">): string {
  const flags = rows.flags[at] as number;
  const status = isForced(flags) ? "forced" : statusOf(rows.dso[at] as number);
  const [name, dso] = [rows.names[at] ?? "", rows.dsos[at] ?? ""];
  const isAddress = name.startsWith("0x");
  return [
    ...(rows.kind[at] === Kind.Unnamed && dso !== ""
      ? [isAddress ? `${name} in ${dso}` : name, isAddress ? "no symbol" : "no symbols"]
      : // What a link folded is called like what stands for its DSO.
        [name, dso === name ? "" : dso]),
    status === null ? "" : STATUS[status].word.toLowerCase(),
    flags & Flag.Inlined ? "inlined" : "",
    `total ${spokenShare(rows.total[at] as number, whole)}`,
    `self ${spokenShare(rows.self[at] as number, whole)}`,
    countSamples(rows.samples[at] as number),
  ]
    .filter((part) => part !== "")
    .join(", ");
}

export function mirrorItems(data: MirrorData): MirrorItem[] {
  const { path, siblings, children, several } = data;
  const last = path.callNode.length - 1;
  if (last < 0) {
    return [];
  }
  const first = Math.max(0, last - MOST_ANCESTORS);
  const above = range(first, last).map((at) => item(data, path, at, "open"));
  const on = item(data, path, last, children.callNode.length > 0 ? "open" : "leaf");
  on.selected = data.selected && several === null;
  const below = range(0, Math.min(MOST_SPOKEN, children.callNode.length)).map((at) => item(data, children, at, "closed"));
  if (several !== null) {
    below.push({
      key: "several",
      label: several,
      level: on.level + 1,
      posInSet: 0,
      setSize: 0,
      expanded: null,
      selected: true,
    });
  }
  const place = siblings?.callNode.indexOf(path.callNode[last] ?? ALL) ?? -1;
  const beside = (from: number, to: number): MirrorItem[] =>
    siblings === null || place < 0
      ? []
      : range(Math.max(0, from), Math.min(siblings.callNode.length, to)).map((at) => item(data, siblings, at, "closed"));
  return [...above, ...beside(place - MOST_SPOKEN / 2, place), on, ...below, ...beside(place + 1, place + 1 + MOST_SPOKEN / 2)];
}

function item(data: MirrorData, rows: CallTreeRows, at: number, how: "open" | "closed" | "leaf"): MirrorItem {
  const hasChildren = (rows.childCount[at] as number) > 0;
  return {
    key: `node-${rows.callNode[at]}`,
    label: spokenCall(rows, at, data),
    // Levels are counted from 1, which is the root.
    level: (rows.depth[at] as number) + 1,
    posInSet: rows.posInSet[at] as number,
    setSize: rows.setSize[at] as number,
    expanded: how === "leaf" || !hasChildren ? null : how === "open",
    selected: false,
  };
}

function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i);
}
