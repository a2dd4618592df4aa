// The hottest path: from a call to its heaviest callee, and so on, up to where a call's self outweighs each of them. Call
// tree and flame graph follow the same one, though the graph folds narrow calls and the tree lists all of them.

/** A callee with less of what is shown is one of many: the path ends before it. A graph must have a box for each other one. */
export const LEAST_SHARE = 0.001;

export interface Callee {
  /** Its call node, or its box; null for several narrow ones. */
  place: number | null;
  weight: number;
}

/** What is not its callees'. */
export const selfOf = (weight: number, callees: Iterable<Callee>): number => {
  let self = weight;
  for (const callee of callees) {
    self -= callee.weight;
  }
  return self;
};

/**
 * Where the path goes on from a call of a weight, or null where it ends. `start` is the weight of the call that it starts
 * from, `whole` that of all that is shown: from a call that is itself too light, the path is measured by this call.
 */
export function hottestCallee(weight: number, callees: readonly Callee[], start: number, whole: number): number | null {
  let best: Callee | null = null;
  for (const callee of callees) {
    if (callee.place !== null && (best === null || callee.weight > best.weight)) {
      best = callee;
    }
  }
  const least = Math.max(LEAST_SHARE * (start < LEAST_SHARE * whole ? start : whole), selfOf(weight, callees));
  return best !== null && best.weight >= least ? best.place : null;
}
