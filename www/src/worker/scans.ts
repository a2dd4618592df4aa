// Views of time, which go through all samples: in steps, between which a cancel arrives.

import type { Session } from "../generated/perftab_web.js";
import type { Query } from "../session/types.ts";
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

interface Step<Answer> {
  done: number;
  total: number;
  answer: Answer | null;
}

/** Something that is added up step by step. */
interface Scan<Answer> {
  step(session: Session, rows: number): Step<Answer>;
  free(): void;
}

export async function scanned<Answer>(session: Session, scan: Scan<Answer>, slices: Slices): Promise<Answer> {
  try {
    return await allSteps([session], () => scan.step(session, ROWS), slices);
  } finally {
    scan.free();
  }
}

/** Goes through all steps of something that is made of these sessions. */
export async function allSteps<Answer>(sessions: readonly Session[], step: () => Step<Answer>, slices: Slices): Promise<Answer> {
  for (;;) {
    checkOpen(...sessions);
    const { done, total, answer } = step();
    if (answer !== null) {
      return answer;
    }
    await slices.breathe({ stage: "counting", done, total });
  }
}

/** Places a query's samples, so that previews of its ranges are quick. A call that is cancelled leaves what it has done to the next. */
export async function placed(session: Session, query: Query, slices: Slices): Promise<void> {
  await allSteps([session], () => session.placeSamples(query, ROWS), slices);
}
