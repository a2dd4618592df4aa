// One question at a time to the worker, the newest wins.
//
// A newer question stops the work on the older one, whose answer is dropped if it comes all the same. Of several that are
// asked before the worker has stopped only the newest is kept. So a drag that asks sixty times a second costs the worker no
// more than it can answer, nothing stale is ever shown, and nobody waits for a tree that nobody wants any more.

import { answered } from "../session/ask.ts";

export interface Latest<Question> {
  ask(question: Question): void;
  /** Forgets what was asked; nothing more is delivered. */
  drop(): void;
}

export interface QuestionHandlers<Question, Answer> {
  /** Passes the signal on to the session's call. */
  ask: (question: Question, abort: AbortController) => Promise<Answer>;
  deliver: (answer: Answer, question: Question) => void;
  /** What is neither a cancellation nor the death of the worker, which the page shows by itself. */
  fail?: (error: unknown, question: Question) => void;
}

export function latest<Question, Answer>(handlers: QuestionHandlers<Question, Answer>): Latest<Question> {
  let running: AbortController | null = null;
  let waiting: { question: Question } | null = null;

  async function run(question: Question): Promise<void> {
    running = new AbortController();
    const deliver = (answer: Answer): void => handlers.deliver(answer, question);
    const fail = (error: unknown): void => handlers.fail?.(error, question);
    await answered((abort) => handlers.ask(question, abort), { deliver, fail }, running);
    running = null;
    if (waiting !== null) {
      const next = waiting.question;
      waiting = null;
      void run(next);
    }
  }

  return {
    ask(question) {
      if (running === null) {
        void run(question);
      } else {
        waiting = { question };
        running.abort();
      }
    },
    drop() {
      waiting = null;
      running?.abort();
    },
  };
}
