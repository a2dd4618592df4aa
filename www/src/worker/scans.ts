// Views of time, which go through all samples: in steps, between which a cancel arrives.

import type { Session } from "../generated/perftab_web.js";
import type { Args, Result } from "../session/types.ts";
import type { Slices } from "./slices.ts";

/** Rows gone through before the clock is looked at; a few milliseconds. */
const ROWS = 1 << 18;

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
    return await allSteps(() => scan.step(session, ROWS), slices);
  } finally {
    scan.free();
  }
}

async function allSteps<Answer>(step: () => Step<Answer>, slices: Slices): Promise<Answer> {
  for (;;) {
    const { done, total, answer } = step();
    if (answer !== null) {
      return answer;
    }
    await slices.breathe({ stage: "counting", done, total });
  }
}

/**
 * The graph of one of many ranges. The first takes as long as a tree does, in slices; a preview that is cancelled leaves
 * what it has done to the next.
 */
export async function rangePreview(
  session: Session,
  { query, range, window }: Args<"rangePreview">,
  slices: Slices,
): Promise<Result<"rangePreview">> {
  await allSteps(() => session.placeSamples(query, ROWS), slices);
  const ranged = { ...query, range };
  const root = window.root === 0 ? 0 : session.callNodeInRange(query, window.root, ranged);
  return session.flameGraph(ranged, { ...window, root });
}
