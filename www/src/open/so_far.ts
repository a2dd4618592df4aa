// When what has been read so far of a large recording is shown: early, then again as more of it has come.
//
// A look costs the reading time, since one worker does both: what is soon read to its end is shown when it is.

import type { Progress } from "../session/types.ts";

/** Of less than this a picture says little. */
const FIRST_BYTES = 20_000_000;
/** Whoever would wait no longer than this for the whole is shown the whole. */
const WORTH_MS = 1500;
/** Between two looks. */
const BETWEEN_MS = 1000;
/**
 * Of the time that reading takes, looks take no more than about one part of this: with 4, it took 8.5 s instead of 7.7 until all
 * of 1.85 GB was shown.
 */
const SHARE = 10;

/** One recording that is being read. Times are those of `performance.now()`. */
export class Looks {
  /** When something of it was first known to be read: a worker that still starts reads nothing. */
  #began: { at: number; done: number } | null = null;
  /** When the last look was asked for, and when reading went on after it. */
  #looked: { at: number; wentOnAt: number | null } | null = null;

  /** Whether it is time for a look. `now` is when the reading had come so far. */
  isDue({ stage, done, total }: Progress, now: number): boolean {
    if (stage !== "reading" || total === undefined) {
      return false;
    }
    this.#began ??= { at: now, done };
    const read = done - this.#began.done;
    if (done < FIRST_BYTES || read === 0) {
      return false;
    }
    const left = ((now - this.#began.at) * (total - done)) / read;
    if (this.#looked === null) {
      return left >= WORTH_MS;
    }
    // Reading waits for the picture: that it goes on says what the look took.
    this.#looked.wentOnAt ??= now;
    const { at, wentOnAt } = this.#looked;
    return left >= BETWEEN_MS && now - wentOnAt >= Math.max(BETWEEN_MS, (SHARE - 1) * (wentOnAt - at));
  }

  looked(now: number): void {
    this.#looked = { at: now, wentOnAt: null };
  }
}
