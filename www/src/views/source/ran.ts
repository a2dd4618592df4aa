// How often instructions ran, by the blocks between branches that the CPU recorded. Without state.

import type { BranchBlock } from "../../session/types.ts";
import { counted, percent } from "../../state/format.ts";
import { share } from "../words.ts";
import type { Listing } from "./listing.ts";

export interface Ran {
  /** By instruction. */
  times: Float64Array;
  /** By the number of the branch that ends it. */
  ends: ReadonlyMap<number, BranchBlock>;
}

/** Blocks and instructions are in the order of their addresses. */
export function ranOf({ count, place }: Pick<Listing, "count" | "place">, blocks: readonly BranchBlock[]): Ran {
  const times = new Float64Array(count);
  const ends = new Map<number, BranchBlock>();
  let at = 0;
  for (const block of blocks) {
    const [start, last] = [BigInt(block.start), BigInt(block.last)];
    const first = block.isBehind ? start + 1n : start;
    while (at < count && place(at) < first) {
      at += 1;
    }
    for (; at < count && place(at) <= last; at++) {
      times[at] = block.executions;
    }
    if (block.isLeft && at > 0) {
      ends.set(at - 1, block);
    }
  }
  return { times, ends };
}

/** What is known of a branch; empty of what is none. */
export function branchWords({ ends }: Ran, at: number): string {
  const block = ends.get(at);
  if (block === undefined) {
    return "";
  }
  const { taken, executions, mispredicted, cycles, timed } = block;
  const words = [`taken ${percent(share(taken, Math.max(taken, executions)))}`];
  if (mispredicted > 0) {
    words.push(`mispredicted ${percent(share(mispredicted, taken))}`);
  }
  if (timed > 0) {
    words.push(`${(cycles / timed).toFixed(1)} cycles`);
  }
  return words.join(", ");
}

/** "Ran 1,234 times; as a branch taken 66.7 %" */
export function ranWords(ran: Ran, at: number): string {
  const branch = branchWords(ran, at);
  const times = `Ran ${counted(ran.times[at] ?? 0, "time", "times")}`;
  return branch === "" ? times : `${times}; as a branch ${branch}`;
}
