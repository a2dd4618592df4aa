// Where jumps within a function lead, and its loops: without state. Calls are none.

import { NONE } from "../../session/types.ts";
import type { Listing } from "./listing.ts";

/** A line beside the instructions, from the first to the last that it joins. */
export interface Lane {
  first: number;
  last: number;
  /** Those that jump. */
  from: ReadonlySet<number>;
  /** Where they jump to. */
  to: number;
}

/** The jump of an instruction, and those that lead to it. */
export function lanesAt({ jumpsTo }: Listing, at: number): Lane[] {
  const to = jumpsTo[at] ?? NONE;
  const sources = new Set<number>();
  for (let from = jumpsTo.indexOf(at); from !== -1; from = jumpsTo.indexOf(at, from + 1)) {
    sources.add(from);
  }
  return [...(to === NONE ? [] : [lane(new Set([at]), to)]), ...(sources.size === 0 ? [] : [lane(sources, at)])];
}

function lane(from: ReadonlySet<number>, to: number): Lane {
  let [first, last] = [to, to];
  for (const each of from) {
    first = Math.min(first, each);
    last = Math.max(last, each);
  }
  return { first, last, from, to };
}

/** What runs again and again: all that leads back to where it begins without leaving it. */
export interface Loop {
  /** Where it begins: nothing comes into it elsewhere. */
  first: number;
  body: ReadonlySet<number>;
}

/** Instructions of x86 and arm64 after which the next one does not run. */
const ENDS = new Set("b br brk hlt int3 iret iretq jmp jmpq ret retaa retab retq ud2 udf".split(" "));
/** Prefixes of jumps. */
const PREFIX = /^(?:notrack|bnd) /;

const first = (text: string): string => text.replace(PREFIX, "").split(" ", 1)[0] ?? "";

/** Of a longer function no loops are said, as it would take the page too long. */
const MOST_INSTRUCTIONS = 1 << 15;
/** Instructions that loops have in all. */
const MOST_LOOPED = 1 << 18;
/** Jumps without a known target: compilers make fewer of one function. */
const MOST_ANYWHERE = 16;

const known = new WeakMap<Listing, readonly Loop[]>();

/** The smallest loop that an instruction is in. */
export function loopAround(listing: Listing, at: number): Loop | null {
  const loops = known.get(listing) ?? loopsOf(listing);
  known.set(listing, loops);
  return loops.find(({ body }) => body.has(at)) ?? null;
}

/** The natural loops, smallest first. One that can be entered elsewhere is none: then nothing says what runs again. */
function loopsOf(listing: Listing): Loop[] {
  if (listing.count > MOST_INSTRUCTIONS) {
    return [];
  }
  const before = comeBefore(listing);
  const backFrom = new Map<number, number[]>();
  listing.jumpsTo.forEach((to, at) => {
    if (to <= at) {
      backFrom.set(to, [...(backFrom.get(to) ?? []), at]);
    }
  });
  const loops: Loop[] = [];
  let left = MOST_LOOPED;
  for (const [to, sources] of backFrom) {
    const body = new Set([to]);
    const waiting = [...sources];
    while (waiting.length > 0 && left > 0) {
      const at = waiting.pop() ?? 0;
      if (!body.has(at)) {
        left -= 1;
        body.add(at);
        waiting.push(...(before[at] ?? []));
      }
    }
    // The function begins with its first instruction.
    if (left > 0 && (to === 0 || !body.has(0))) {
      loops.push({ first: to, body });
    }
  }
  return loops.sort((one, other) => one.body.size - other.body.size);
}

/** By instruction, those that lead to it. What nothing is known to lead to is where jumps lead whose target is not known. */
function comeBefore({ count, jumpsTo, text }: Listing): number[][] {
  const before = Array.from({ length: count }, (): number[] => []);
  const anywhere: number[] = [];
  for (let at = 0; at < count; at++) {
    const [to, word] = [jumpsTo[at] ?? NONE, first(text(at))];
    before[to]?.push(at);
    if (!ENDS.has(word)) {
      before[at + 1]?.push(at);
    } else if (to === NONE && /^(?:br|jmpq?)$/.test(word)) {
      anywhere.push(at);
    }
  }
  for (const those of before.slice(1)) {
    if (those.length === 0) {
      those.push(...anywhere.slice(0, MOST_ANYWHERE));
    }
  }
  return before;
}

/** What of a lane is drawn beside an instruction. */
export interface LanePart {
  /** Whether it goes on above, and below. */
  up: boolean;
  down: boolean;
  end: "none" | "from" | "to";
}

export function partOf({ first, last, from, to }: Lane, at: number): LanePart | null {
  if (at < first || at > last) {
    return null;
  }
  return { up: at > first, down: at < last, end: at === to ? "to" : from.has(at) ? "from" : "none" };
}
