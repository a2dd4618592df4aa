// What the worker says, for as long as a component is on the screen.

import { useSignal, useSignalEffect } from "@preact/signals";
import type { Asking } from "./ask.ts";
import { askIfAny } from "./ask.ts";

export interface Known<Subject, Answer> {
  /** null where there is nothing to ask, and where that failed. */
  answer: Answer | null;
  /** What it is of: until the next answer is there, what was asked about before. */
  of: Subject | null;
  state: "asked" | "answered";
}

/**
 * As `answerTo`, about a subject that is the same as long as it is equal: asked again whenever it or what `question` reads
 * changes. Until then the former answer stands.
 */
export function useAnswer<Subject, Answer>(
  subject: Subject,
  question: (subject: Subject) => Asking<Answer> | null,
): Known<Subject, Answer> {
  const asked = useSignal(subject);
  const known = useSignal<Known<Subject, Answer>>({ answer: null, of: null, state: "answered" });
  asked.value = subject;
  useSignalEffect(() => {
    const of = asked.value;
    const asking = question(of);
    known.value = { ...known.peek(), state: "asked" };
    return askIfAny(asking, (answer) => {
      known.value = { answer, of, state: "answered" };
    });
  });
  return known.value;
}
