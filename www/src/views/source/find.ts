// What the search field's text finds in code: without state.

import { Word } from "../../session/highlight.ts";
import { nextTask } from "../../worker/slices.ts";

/** Where a text matches: pairs of begin and end. */
export type Matcher = (text: string) => readonly (readonly [from: number, to: number])[];

/** No letter of more is marked in one line. */
const MOST_MARKS = 100;

/**
 * The text as it stands, in any case if it has no capitals. null for what searches functions alone. There are no regular
 * expressions here: an address may bring one, and a browser's own may take forever.
 */
export function matcherOf(search: string): Matcher | null {
  const wanted = search.trim();
  // As in `search.rs`, where the second slash ends a word: `/usr/lib` is a text.
  if (wanted === "" || /^\/[^/].*?\/(?:\s|$)/.test(wanted) || /^(dso|file):/.test(wanted)) {
    return null;
  }
  const isSame = wanted !== wanted.toLowerCase();
  return (text) => {
    const lower = isSame ? text : text.toLowerCase();
    // Some letters are longer in lower case, and then nothing would stand where it is found.
    const within = lower.length === text.length ? lower : text;
    const found: [number, number][] = [];
    for (let at = within.indexOf(wanted); at !== -1; at = within.indexOf(wanted, at + wanted.length)) {
      found.push([at, at + wanted.length]);
      if (found.length === MOST_MARKS) {
        break;
      }
    }
    return found;
  };
}

/** Texts that are looked at before the clock is. */
const TEXTS = 1 << 9;
const SLICE_MS = 8;

/** The numbers of the texts that match, ascending. Goes on in slices; null if it was taken back. */
export async function findAmong(
  count: number,
  textOf: (at: number) => string,
  matches: Matcher,
  signal: AbortSignal,
): Promise<number[] | null> {
  const found: number[] = [];
  let since = performance.now();
  for (let at = 0; at < count; at++) {
    if (at % TEXTS === 0 && performance.now() - since > SLICE_MS) {
      await nextTask();
      if (signal.aborted) {
        return null;
      }
      since = performance.now();
    }
    if (matches(textOf(at)).length > 0) {
      found.push(at);
    }
  }
  return found;
}

/** The place of the next one from a position, or of the one before, around the ends. `positions` ascend, and there is one. */
export function placeFrom(positions: readonly number[], from: number, way: 1 | -1): number {
  const place = way === 1 ? positions.findIndex((each) => each > from) : positions.findLastIndex((each) => each < from);
  return place !== -1 ? place : way === 1 ? 0 : positions.length - 1;
}

export interface Piece {
  text: string;
  kind: Word | "match";
}

/** A text in pieces: what matches, and between that words. `runs` are pairs: where one ends, and what it is. */
export function piecesOf(text: string, matches: ReturnType<Matcher>, runs: ArrayLike<number> = []): Piece[] {
  const pieces: Piece[] = [];
  let [end, run] = [0, 0];
  const take = (to: number, kind: Piece["kind"]): void => {
    if (to > end) {
      pieces.push({ text: text.slice(end, to), kind });
      end = to;
    }
  };
  for (const [from, to] of [...matches, [text.length, text.length] as const]) {
    for (; run < runs.length && (runs[run] ?? 0) <= from; run += 2) {
      take(runs[run] ?? 0, runs[run + 1] ?? Word.Other);
    }
    take(from, runs[run + 1] ?? Word.Other);
    take(to, "match");
  }
  return pieces;
}
