// Basic blocks as rows: each block, and below it the ways out of it. Without state.

import type { BranchBlock, BranchBlocks, BranchWay, HotInstruction } from "../../../session/types.ts";
import type { Place } from "./hot_lines.ts";
import { placeIn } from "./hot_lines.ts";

/** The block itself, where its branch led, what went on behind it, or places that are not told one by one. */
export type BlockRow = { block: BranchBlock; times: number } & (
  | { kind: "block" | "next" | "more" }
  | { kind: "way"; way: BranchWay }
);

export function rowsOf({ blocks }: BranchBlocks): BlockRow[] {
  return blocks.flatMap((block): BlockRow[] => {
    const { executions, taken, ways, moreWays, isLeft } = block;
    const rows: BlockRow[] = [{ kind: "block", block, times: executions }];
    rows.push(...ways.map((way): BlockRow => ({ kind: "way", block, times: way.taken, way })));
    if (moreWays > 0) {
      rows.push({ kind: "more", block, times: taken - ways.reduce((sum, way) => sum + way.taken, 0) });
    }
    if (isLeft && executions > taken) {
      rows.push({ kind: "next", block, times: executions - taken });
    }
    return rows;
  });
}

/** Tells the rows of one block apart. */
function wayOf(row: BlockRow): string | null {
  return row.kind === "block" ? null : row.kind === "way" ? `${row.way.functionId} ${row.way.address}` : row.kind;
}

export function placeOfRow(row: BlockRow): Place {
  const { start, last, isBehind } = row.block;
  return { kind: "block", start, last, isBehind, way: wayOf(row) };
}

/** The chosen row; of a chosen line or instruction the blocks that it is in. Both are in the order of addresses. */
export function markedRows(
  rows: readonly BlockRow[],
  place: Place | null,
  instructions: readonly HotInstruction[],
): ReadonlySet<number> {
  const marked = new Set<number>();
  let next = 0;
  for (const [index, row] of rows.entries()) {
    if (place?.kind === "block") {
      const { start, isBehind } = row.block;
      if (start === place.start && isBehind === place.isBehind && wayOf(row) === place.way) {
        marked.add(index);
      }
    } else if (row.kind === "block") {
      const toNext = (): number => placeIn(instructions[next]?.address ?? row.block.start, row.block);
      while (next < instructions.length && toNext() < 0) {
        next += 1;
      }
      if (next < instructions.length && toNext() === 0) {
        marked.add(index);
      }
    }
  }
  return marked;
}

/** The block that begins at an address. */
export function blockAt(rows: readonly BlockRow[], address: string | null): BlockRow | undefined {
  return rows.find(({ kind, block }) => kind === "block" && !block.isBehind && block.start === address);
}
