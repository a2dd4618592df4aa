// Work that goes through all samples: in steps, between which a cancel arrives.

import type { Session } from "../generated/perftab_web.js";
import type { Slices } from "./slices.ts";
import { CancelledCall } from "./slices.ts";

/** Rows gone through before the clock is looked at; a few milliseconds. */
export const ROWS = 1 << 18;

/** Sessions that were freed: work on one that is closed meanwhile ends as if it was cancelled. */
const closed = new WeakSet<Session>();

export function close(session: Session): void {
  closed.add(session);
  session.free();
}

/** More of a recording takes the place of less: who knows call nodes of it finds them in this. */
export function followOn(session: Session, less: Session): void {
  closed.add(less);
  session.followOn(less);
}

/** Whoever awaited something asks before the session is used again. */
export function checkOpen(...sessions: readonly Session[]): void {
  if (sessions.some((session) => closed.has(session))) {
    throw new CancelledCall();
  }
}

type Step<Answer> = { done: number; total: number; answer?: never } | { answer: Answer };

/** Goes through all steps of something that is made of these sessions. */
export async function allSteps<Answer>(sessions: readonly Session[], step: () => Step<Answer>, slices: Slices): Promise<Answer> {
  for (;;) {
    checkOpen(...sessions);
    const next = step();
    if ("done" in next) {
      await slices.breathe({ stage: "counting", done: next.done, total: next.total });
    } else {
      return next.answer;
    }
  }
}
