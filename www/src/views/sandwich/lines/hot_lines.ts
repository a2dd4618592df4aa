// Which of a function's lines are hot, and what belongs to which: without state.

import type { BranchBlock, FunctionRef, HotInstruction, HotLine, HotLines, SandwichFacts } from "../../../session/types.ts";
import { Flag } from "../../../session/types.ts";

/** What another build's file says of lines, instructions and blocks is said nowhere. */
export function isForcedName(known: SandwichFacts): boolean {
  return (known.flags & Flag.Forced) !== 0 || known.dsoStatus === "forced";
}

/** From so many percent of the function on a row has the next step of heat; what has less than the first has step 1. */
const STEPS = [0.6, 2, 5, 9] as const;

/** 0 for no weight, else 1 to 5. */
export function heatStep(share: number): number {
  return share <= 0 ? 0 : 1 + STEPS.filter((from) => share * 100 >= from).length;
}

/** The first step that `[` and `]` stop at. */
const HOT_FROM = 3;

/** A row that is chosen, in words that outlive an answer: filters change weights, not places. */
export type Place =
  | { kind: "line"; file: string | null; line: number | null }
  | { kind: "instruction"; address: string; line: number | null }
  | { kind: "block"; start: string; last: string; isBehind: boolean; way: string | null };

export function placeOfLine({ file, line }: HotLine): Place {
  return { kind: "line", file, line };
}

export function placeOfInstruction({ address, line }: HotInstruction): Place {
  return { kind: "instruction", address, line };
}

/** Less than 0 if an address comes first. They are hex without zeros in front, and there may be many. */
const order = (a: string, b: string): number => a.length - b.length || (a < b ? -1 : Number(a > b));

/** Less than 0 for an instruction before a basic block, 0 for one of the block. */
export function placeIn(address: string, { start, last, isBehind }: Pick<BranchBlock, "start" | "last" | "isBehind">): number {
  const toStart = order(address, start);
  return toStart < 0 || (isBehind && toStart === 0) ? -1 : Math.max(0, order(address, last));
}

/** Rows by their numbers: the chosen one, and those that belong to it in the other table. */
export interface Marks {
  lines: ReadonlySet<number>;
  instructions: ReadonlySet<number>;
}

export const NO_MARKS: Marks = { lines: new Set(), instructions: new Set() };

export function marksOf({ lines, instructions }: HotLines, place: Place | null): Marks {
  if (place === null) {
    return NO_MARKS;
  }
  if (place.kind === "block") {
    const inside = instructions.flatMap((row, index) => (placeIn(row.address, place) === 0 ? [index] : []));
    const own = inside.flatMap((index) => instructions[index]?.lineRow ?? []);
    return { lines: new Set(own), instructions: new Set(inside) };
  }
  if (place.kind === "instruction") {
    const at = instructions.findIndex((row) => row.address === place.address && row.line === place.line);
    const line = instructions[at]?.lineRow ?? null;
    return { lines: new Set(line === null ? [] : [line]), instructions: new Set(at === -1 ? [] : [at]) };
  }
  const at = lines.findIndex((row) => row.file === place.file && row.line === place.line);
  const own = instructions.flatMap((row, index) => (at !== -1 && row.lineRow === at ? [index] : []));
  return { lines: new Set(at === -1 ? [] : [at]), instructions: new Set(own) };
}

type Weighed = Pick<HotLine, "weight">;

/**
 * The next hot line from a row, or the one before; from no row the first, or the last. Where nothing is hot every line is.
 * null where there is none.
 */
export function nextHot(
  { self, lines }: { self: Weighed; lines: readonly Weighed[] },
  from: number | null,
  way: "next" | "previous",
): number | null {
  const numbers = lines.map((_, index) => index);
  const hot = numbers.filter((index) => heatStep((lines[index]?.weight ?? 0) / self.weight) >= HOT_FROM);
  const among = hot.length > 0 ? hot : numbers;
  const found =
    way === "next"
      ? among.find((index) => from === null || index > from)
      : among.findLast((index) => from === null || index < from);
  return found ?? null;
}

/** "tides.c:42"; without what is not known. */
export function lineWords({ file, line }: Pick<HotLine, "file" | "line">): string {
  const name = file === null ? null : file.slice(file.lastIndexOf("/") + 1);
  if (name === null && line === null) {
    return "unknown line";
  }
  return `${name ?? "unknown file"}${line === null ? ", no line" : `:${line}`}`;
}

/** Whether any line of it is known. */
export function hasLines({ lines }: HotLines): boolean {
  return lines.some(({ line }) => line !== null);
}

export function isSameFunction(a: FunctionRef | null, b: FunctionRef | null): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
