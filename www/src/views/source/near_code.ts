// What is around the hottest line of a function, and the instructions that were made of that line: without state.

import type { Listing, ListedLine, SourceRow } from "./listing.ts";
import { shownText, sourceRows } from "./listing.ts";

/** Lines before and behind the hottest. */
const BEFORE = 4;
const BEHIND = 5;
const MOST_INSTRUCTIONS = 10;

export interface NearCode {
  /** null where no line is known. */
  hottest: ListedLine | null;
  /** In its file, in order: empty where their text is not known. */
  rows: readonly SourceRow[];
  /** Numbers of the hottest line's instructions; of a function without lines, of those around the hottest one. */
  instructions: readonly number[];
  /** How many of the line's instructions are not among them. */
  more: number;
}

/** What ended in an inlined function alone, by its name: null if nothing did. */
export function ofInlined(listing: Listing, inlined: string): Listing | null {
  const number = listing.functions.indexOf(inlined);
  const isOf = (at: number): boolean => number !== -1 && listing.inlined[at] === number;
  const samples = listing.samples.map((each, at) => (isOf(at) ? each : 0));
  const weight = listing.weight.map((each, at) => (isOf(at) ? each : 0));
  const whole = { samples: sumOf(samples), weight: sumOf(weight) };
  if (whole.weight === 0) {
    return null;
  }
  const lines = listing.lines.map((line) => ({ ...line, samples: 0, weight: 0 }));
  const byPlace = new Map(lines.map((line) => [`${line.file} ${line.line}`, line]));
  for (let at = 0; at < listing.count; at++) {
    const line = byPlace.get(`${listing.file[at]} ${listing.line[at]}`);
    if (line !== undefined) {
      line.samples += samples[at] ?? 0;
      line.weight += weight[at] ?? 0;
    }
  }
  return { ...listing, whole, samples, weight, lines };
}

function sumOf(numbers: Float64Array): number {
  return numbers.reduce((sum, each) => sum + each, 0);
}

/** `texts` are the lines of the hottest line's file, where that is at hand. */
export function nearCode(listing: Listing, hottest: ListedLine | null, texts: readonly string[] | null): NearCode {
  const { instructions, more } = nearInstructions(listing, hottest);
  if (hottest === null) {
    return { hottest, rows: [], instructions, more };
  }
  const all = sourceRows(listing, hottest.file, texts).filter(({ text }) => text !== null);
  const at = all.findIndex(({ line }) => line === hottest.line);
  const rows = at === -1 ? [] : all.slice(Math.max(0, at - BEFORE), at + 1 + BEHIND);
  return { hottest, rows, instructions, more };
}

function nearInstructions(listing: Listing, hottest: ListedLine | null): Pick<NearCode, "instructions" | "more"> {
  const { weight, file, line, count } = listing;
  const all = Array.from({ length: count }, (_, at) => at);
  if (hottest === null) {
    const heaviest = weight.reduce((most, each) => Math.max(most, each), 0);
    const from = Math.max(0, weight.indexOf(heaviest) - BEFORE);
    return { instructions: heaviest === 0 ? [] : all.slice(from, from + MOST_INSTRUCTIONS), more: 0 };
  }
  const own = all.filter((at) => file[at] === hottest.file && line[at] === hottest.line);
  const byHeat = own.toSorted((one, other) => (weight[other] ?? 0) - (weight[one] ?? 0));
  const kept = byHeat.slice(0, MOST_INSTRUCTIONS).sort((one, other) => one - other);
  return { instructions: kept, more: own.length - kept.length };
}

/** Lines without the space that all of them begin with. */
export function dedented(texts: readonly string[]): string[] {
  const plain = texts.map((text) => shownText(text).replaceAll("\t", "    "));
  const margins = plain.filter((text) => text.trim() !== "").map((text) => text.length - text.trimStart().length);
  const margin = margins.reduce((least, each) => Math.min(least, each), Number.MAX_SAFE_INTEGER);
  return plain.map((text) => text.slice(margin).trimEnd());
}
