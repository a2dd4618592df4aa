// The part of the compared tree that assistive technology is told about: the path to the selection, its siblings and its
// children, each with what it costs before and after. At most 200 items whatever the tree's size.

import type { ComparedDetail, ComparedRow } from "../session/types.ts";
import { Flag } from "../session/types.ts";
import type { ComparisonState } from "../state/url.ts";
import { isForced, spokenName } from "../views/forced_name.tsx";
import type { MirrorItem } from "../views/flame/mirror_items.ts";
import { difference, NOT_COMPARABLE, PRESENCE_WORDS, spoken, spokenSides } from "./words.ts";

const MOST_ANCESTORS = 38;

/** What the words of an item depend on besides the call. */
export interface SpokenUnits {
  basis: ComparisonState["basis"];
  event: string;
}

export function comparedItems(detail: ComparedDetail, how: SpokenUnits, isSelected: boolean): MirrorItem[] {
  const level = detail.path.length;
  const above = detail.path.slice(0, -1);
  const first = Math.max(0, above.length - MOST_ANCESTORS);
  const path = above.slice(first).map(
    ({ name, flags }, i): MirrorItem => ({
      key: `above-${first + i}`,
      label: spokenName(name, flags),
      level: first + i + 1,
      posInSet: 0,
      setSize: 0,
      expanded: true,
      selected: false,
    }),
  );
  const here: MirrorItem = {
    key: `node-${detail.callNode}`,
    label: comparedLabel(detail, how),
    level,
    posInSet: detail.posInSet,
    setSize: detail.setSize,
    expanded: detail.children.length > 0 ? true : null,
    selected: isSelected,
  };
  const children = detail.children.map((row) => rowItem(row, level + 1, detail.children.length, how));
  const at = detail.siblings.findIndex(({ callNode }) => callNode === detail.callNode);
  const beside = (rows: readonly ComparedRow[]): MirrorItem[] => rows.map((row) => rowItem(row, level, detail.setSize, how));
  return [
    ...path,
    ...beside(detail.siblings.slice(0, Math.max(0, at))),
    here,
    ...children,
    ...beside(detail.siblings.slice(at + 1)),
  ];
}

/** "hashbrown::find, edge-auth, before 2.7 percent, after 5.9 percent, change plus 3.2 points, beyond noise" */
export function comparedLabel(detail: ComparedDetail, { basis, event }: SpokenUnits): string {
  const change = spoken(difference(detail.total.change, basis, event));
  return [
    detail.name,
    detail.flags & Flag.Inlined ? "inlined" : "",
    detail.dso ?? "",
    isForced(detail.flags) ? "forced" : "",
    PRESENCE_WORDS[detail.presence],
    spokenSides(detail.total, basis, event),
    ...(detail.withoutNames === null
      ? [`change ${change}${basis === "share" ? " points" : ""}`, detail.total.certain ? "beyond noise" : "within noise"]
      : [NOT_COMPARABLE]),
    detail.allCalls === null ? "" : `all calls ${spokenSides(detail.allCalls.total, basis, event)}`,
  ]
    .filter((part) => part !== "")
    .join(", ");
}

function rowItem(row: ComparedRow, level: number, setSize: number, { basis, event }: SpokenUnits): MirrorItem {
  return {
    key: `node-${row.callNode}`,
    label: [row.name, row.dso, isForced(row.flags) ? "forced" : "", PRESENCE_WORDS[row.presence], spokenSides(row, basis, event)]
      .filter((part) => part !== "")
      .join(", "),
    level,
    posInSet: row.posInSet,
    setSize: Math.max(setSize, row.posInSet),
    expanded: row.hasChildren ? false : null,
    selected: false,
  };
}
