// Work of which only the last that was begun counts: the next one cancels what is under way, and waits for its end.

type Work<Answer> = (abort: AbortController) => Promise<Answer>;

/** Why work was cancelled by the next, and not by the user. */
export const TAKEN_OVER = Symbol("taken over");

/** Runs one of several at a time; of those that wait, all but the newest are never begun, and have no answer. */
export function takingOver<Answer>(): (work: Work<Answer>) => Promise<Answer | undefined> {
  let newest = 0;
  let abort: AbortController | null = null;
  let ended: Promise<unknown> = Promise.resolve();
  return async (work) => {
    const mine = ++newest;
    abort?.abort(TAKEN_OVER);
    await ended;
    if (mine !== newest) {
      return undefined;
    }
    abort = new AbortController();
    const run = work(abort);
    ended = run.catch(() => {
      // Whoever began it is told.
    });
    return await run;
  };
}
