// Questions of a session, whichever they are: the session knows what each needs first, and goes through it in steps, between
// which a cancel arrives.

import type { Session } from "../generated/perftab_web.js";
import { Asked } from "../generated/perftab_web.js";
import type { AnswerTo, ArgsOf, SessionMethod } from "../session/types.ts";
import { checkOpen, ROWS } from "./scans.ts";
import type { Slices } from "./slices.ts";
import type { Turns } from "./turns.ts";

type Step = ReturnType<Asked["step"]>;

/** Answers in steps. What makes trees takes its turn; by then another session may be the one that `open` says. */
export async function answered<M extends SessionMethod>(
  method: M,
  args: ArgsOf<M>,
  open: () => Session,
  turns: Turns,
  slices: Slices,
): Promise<AnswerTo<M>> {
  const asked = new Asked(method, args);
  let begun: Session | null = null;
  const session = (): Session => {
    if (begun === null) {
      return open();
    }
    checkOpen(begun);
    return begun;
  };
  const steps = async (isTurn: boolean): Promise<Step> => {
    for (;;) {
      begun = session();
      const step = asked.step(begun, ROWS);
      if ("answer" in step || asked.takesTurn(begun) !== isTurn) {
        return step;
      }
      await slices.breathe({ stage: "counting", ...step });
    }
  };
  try {
    for (;;) {
      const isTurn = asked.takesTurn(session());
      const step = isTurn ? await turns.take(slices, () => steps(true)) : await steps(false);
      if ("answer" in step) {
        return step.answer as AnswerTo<M>;
      }
    }
  } finally {
    asked.free();
  }
}

/** Answers what takes no time. */
export function saidAtOnce<M extends SessionMethod>(session: Session, method: M, args: ArgsOf<M>): AnswerTo<M> {
  const asked = new Asked(method, args);
  try {
    for (;;) {
      const step = asked.step(session, ROWS);
      if ("answer" in step) {
        return step.answer as AnswerTo<M>;
      }
    }
  } finally {
    asked.free();
  }
}
