// Questions to the worker that may be taken back.

import type { ReadonlySignal } from "@preact/signals";
import { effect, signal } from "@preact/signals";
import { Cancelled, WorkerDied } from "./client.ts";

/** Passes the signal on to the session's call. */
export type Asking<Answer> = (abort: AbortController) => Promise<Answer>;

export interface AnswerHandlers<Answer> {
  deliver: (answer: Answer) => void;
  /** What is neither a cancellation nor the death of the worker, which the page shows by itself. */
  fail?: ((error: unknown) => void) | undefined;
}

/**
 * Asks; what it returns takes the question back, and then nothing is delivered. An effect that returns that asks again
 * whenever what it reads changes.
 */
export function ask<Answer>(
  asking: Asking<Answer>,
  deliver: (answer: Answer) => void,
  fail?: (error: unknown) => void,
): () => void {
  const abort = new AbortController();
  void answered(asking, { deliver, fail }, abort);
  return () => abort.abort();
}

/**
 * What the worker says, asked again whenever what `question` reads changes: until then the former answer stands. null where
 * there is nothing to ask, and where that failed.
 */
export function answerTo<Answer>(question: () => Asking<Answer> | null): ReadonlySignal<Answer | null> {
  const known = signal<Answer | null>(null);
  effect(() =>
    askIfAny(question(), (answer) => {
      known.value = answer;
    }),
  );
  return known;
}

/** Asks, and tells null where there is nothing to ask and where that failed. */
export function askIfAny<Answer>(asking: Asking<Answer> | null, tell: (answer: Answer | null) => void): (() => void) | undefined {
  if (asking === null) {
    tell(null);
    return undefined;
  }
  return ask(asking, tell, () => tell(null));
}

/** Resolves when the answer has been delivered, or none is to be. */
export async function answered<Answer>(
  asking: Asking<Answer>,
  { deliver, fail }: AnswerHandlers<Answer>,
  abort: AbortController,
): Promise<void> {
  try {
    const answer = await asking(abort);
    if (!abort.signal.aborted) {
      deliver(answer);
    }
  } catch (error) {
    if (!abort.signal.aborted && !(error instanceof Cancelled) && !(error instanceof WorkerDied)) {
      fail?.(error);
    }
  }
}
