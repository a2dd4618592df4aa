// One question at a time to the worker, the newest wins.
//
// While an answer is awaited only the newest question is kept; the answer to an older one is dropped. So a drag that
// asks sixty times a second costs the worker no more than it can answer, and nothing stale is ever shown.

import { Cancelled, WorkerDied } from "../session/client.ts";

export interface Latest<Question> {
  ask(question: Question): void;
  /** Forgets what was asked; nothing more is delivered. */
  drop(): void;
}

export interface QuestionHandlers<Question, Answer> {
  ask: (question: Question) => Promise<Answer>;
  deliver: (answer: Answer, question: Question) => void;
  /** What is neither a cancellation nor the death of the worker, which the page shows by itself. */
  fail?: (error: unknown, question: Question) => void;
}

export function latest<Question, Answer>(handlers: QuestionHandlers<Question, Answer>): Latest<Question> {
  let running = false;
  let waiting: { question: Question } | null = null;
  /** Answers to questions asked before this count changed are dropped. */
  let current = 0;

  async function run(question: Question): Promise<void> {
    running = true;
    const mine = current;
    try {
      const answer = await handlers.ask(question);
      if (mine === current) {
        handlers.deliver(answer, question);
      }
    } catch (error) {
      if (mine === current && !(error instanceof Cancelled) && !(error instanceof WorkerDied)) {
        handlers.fail?.(error, question);
      }
    } finally {
      running = false;
      if (waiting !== null) {
        const next = waiting.question;
        waiting = null;
        void run(next);
      }
    }
  }

  return {
    ask(question) {
      current++;
      if (running) {
        waiting = { question };
      } else {
        void run(question);
      }
    },
    drop() {
      current++;
      waiting = null;
    },
  };
}
