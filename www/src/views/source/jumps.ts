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

/** From where it begins to the instruction that jumps back there. */
export interface Loop {
  first: number;
  last: number;
}

/** The smallest loop that an instruction is in: what lies between a jump back and where it leads. */
export function loopAround({ jumpsTo }: Listing, at: number): Loop | null {
  let found: Loop | null = null;
  for (let last = at; last < jumpsTo.length; last++) {
    const first = jumpsTo[last] ?? NONE;
    if (first <= at && (found === null || last - first < found.last - found.first)) {
      found = { first, last };
    }
  }
  return found;
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
