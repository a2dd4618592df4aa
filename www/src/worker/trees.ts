// Call trees of millions of samples take seconds to make, so views wait for theirs, which is made in slices.

import type { Query, Session } from "../generated/perftab_web.js";
import { allSteps, ROWS } from "./scans.ts";
import type { Slices } from "./slices.ts";

/** What is to be known of a tree: itself, or also in which call node each sample ends. */
export type TreeDetail = "tree" | "ends";

/** Long work one after the other: a session makes one tree at a time, and two in turns would begin anew each time. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  /** Does it when all that came before is done, unless it is cancelled by then. */
  take<Answer>(slices: Slices, work: () => Promise<Answer>): Promise<Answer> {
    const turn = this.#last.then(() => {
      slices.check();
      return slices.inTurn(work);
    });
    this.#last = turn.catch(() => undefined);
    return turn;
  }
}

/** What a view says of a query's tree, which is made first. A call that is cancelled leaves what is made to the next. */
export async function ofTree<Answer>(
  session: Session,
  query: Query,
  noted: TreeDetail,
  slices: Slices,
  view: () => Answer | Promise<Answer>,
): Promise<Answer> {
  await allSteps([session], () => session.makeTree(query, noted, ROWS), slices);
  return await view();
}
