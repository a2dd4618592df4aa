// Call trees of millions of samples take seconds to make, so views wait for theirs, which is made in slices.

import type { Slices } from "./slices.ts";

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
