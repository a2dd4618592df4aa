// Views of time, which go through all samples: in steps, between which a cancel arrives.

import type { Session } from "../generated/perftab_web.js";
import type { Slices } from "./slices.ts";

/** Rows gone through before the clock is looked at; a few milliseconds. */
const ROWS = 1 << 18;

/** Something that is added up step by step. */
interface Scan<Answer> {
  step(session: Session, rows: number): { done: number; total: number; answer: Answer | null };
  free(): void;
}

export async function scanned<Answer>(session: Session, scan: Scan<Answer>, slices: Slices): Promise<Answer> {
  try {
    for (;;) {
      const { done, total, answer } = scan.step(session, ROWS);
      if (answer !== null) {
        return answer;
      }
      await slices.breathe({ stage: "counting", done, total });
    }
  } finally {
    scan.free();
  }
}
