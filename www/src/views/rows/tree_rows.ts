// A call tree as rows: which call nodes are open, and the list that results. Children are kept as the columns in
// which they came; a row is a place in such columns.

import { ALL } from "../../session/types.ts";

/** What every tree's columns have: of one profile, and of two that are compared. */
export interface TreeColumns {
  callNode: Uint32Array;
  functionId: Uint32Array;
  childCount: Uint32Array;
  posInSet: Uint32Array;
  setSize: Uint32Array;
  kind: Uint8Array;
  flags: Uint8Array;
  names: string[];
  dsos: string[];
}

export interface TreeRow<Columns extends TreeColumns = TreeColumns> {
  callNode: number;
  parent: number;
  /** 0 for the first level. */
  depth: number;
  /** The columns that hold this row, and its place in them. */
  columns: Columns;
  index: number;
}

/** The rows that show, from the top. A call node that is open but not loaded yet shows as closed. */
export function visibleTreeRows<Columns extends TreeColumns>(
  children: ReadonlyMap<number, Columns>,
  open: ReadonlySet<number>,
): TreeRow<Columns>[] {
  const rows: TreeRow<Columns>[] = [];
  // The last entry is the columns being listed; a stack, because trees are deeper than the engine's.
  const stack = [{ parent: ALL, depth: 0, columns: children.get(ALL), next: 0 }];
  for (let at = stack.at(-1); at !== undefined; at = stack.at(-1)) {
    if (!at.columns || at.next >= at.columns.callNode.length) {
      stack.pop();
      continue;
    }
    const index = at.next++;
    const callNode = at.columns.callNode[index] as number;
    rows.push({ callNode, parent: at.parent, depth: at.depth, columns: at.columns, index });
    if (open.has(callNode)) {
      stack.push({ parent: callNode, depth: at.depth + 1, columns: children.get(callNode), next: 0 });
    }
  }
  return rows;
}

export function hasChildren(row: TreeRow): boolean {
  return (row.columns.childCount[row.index] as number) > 0;
}

/** What Right does: opens a closed row, goes into an open one. */
export function rowAfterRight(rows: readonly TreeRow[], at: number, open: ReadonlySet<number>): "open" | number | null {
  const row = rows[at];
  if (!row || !hasChildren(row)) {
    return null;
  }
  if (!open.has(row.callNode)) {
    return "open";
  }
  return rows[at + 1]?.parent === row.callNode ? at + 1 : null;
}

/** What Left does: closes an open row, goes from a closed one to its parent. */
export function rowAfterLeft(rows: readonly TreeRow[], at: number, open: ReadonlySet<number>): "close" | number | null {
  const row = rows[at];
  if (!row) {
    return null;
  }
  if (open.has(row.callNode) && hasChildren(row)) {
    return "close";
  }
  const parent = rows.findIndex((each) => each.callNode === row.parent);
  return parent >= 0 ? parent : null;
}
