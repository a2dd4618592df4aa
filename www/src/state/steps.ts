// What steps do to samples.

import type { Query, Transform } from "../session/types.ts";

/** Steps that take samples away, as the session has them; the others rewrite stacks. */
const DROPPING: ReadonlySet<Transform["kind"]> = new Set(["focus", "focus-subtree", "drop", "drop-idle", "search"]);

/** Whether a query's steps may take samples away: then they count wherever filters do. */
export function dropsSamples({ steps }: Pick<Query, "steps">): boolean {
  return steps.some(({ kind }) => DROPPING.has(kind));
}
