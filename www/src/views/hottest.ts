// The hottest path: from a call to its heaviest callee, and so on. Call tree and flame graph follow the same one, though
// the graph folds narrow calls and the tree lists all of them.

/** A callee with less of what is shown is one of many: the path ends before it. A graph must have a box for each other one. */
export const LEAST_SHARE = 0.001;

export interface Callee {
  /** Its call node, or its box. */
  place: number;
  weight: number;
}

/**
 * Where the path goes on, or null where it ends. `start` is the weight of the call that it starts from, `whole` that of
 * all that is shown: from a call that is itself too light, the path is measured by this call.
 */
export function hottestCallee(callees: Iterable<Callee>, start: number, whole: number): number | null {
  let best: Callee | null = null;
  for (const callee of callees) {
    best = best === null || callee.weight > best.weight ? callee : best;
  }
  const least = LEAST_SHARE * (start < LEAST_SHARE * whole ? start : whole);
  return best !== null && best.weight >= least ? best.place : null;
}
