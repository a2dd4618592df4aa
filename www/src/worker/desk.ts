// Calls of this worker: the end that answers. `session/caller.ts` is the one that asks.
//
// Calls wait in a queue that is emptied after the messages that have arrived, so that a cancel reaches a call before its
// turn. A call that waits (a stream, a network) lets the next one run. What is thrown and is no SessionFailure is a
// bug: the worker cannot be trusted after it, and whoever asks is told that it died.

import type { Call, Progress, Reply, SessionFailure } from "../session/types.ts";
import { CancelledCall, nextTask } from "./slices.ts";

/** Answers a call, or throws; stops where the signal says so. */
export type Answer = (call: Call, signal: AbortSignal, report: (progress: Progress) => void) => Promise<unknown>;

export class Desk {
  readonly #answer: Answer;
  readonly #held: () => number;
  readonly #queue: Call[] = [];
  readonly #running = new Map<number, AbortController>();
  #isEmptying = false;

  /** `held` says how many bytes this worker holds: whoever is told that it died learns that too. */
  constructor(answer: Answer, held: () => number) {
    this.#answer = answer;
    this.#held = held;
  }

  /** Takes calls at once, and answers them once it has begun. */
  static begin(started: Promise<Answer>, held: () => number): Desk {
    const desk = new Desk(async (call, signal, report) => (await started)(call, signal, report), held);
    started.catch((error) => desk.fail(error));
    return desk;
  }

  take(call: Call): void {
    this.#queue.push(call);
    void this.#empty();
  }

  cancel(id: number): void {
    const waiting = this.#queue.findIndex((call) => call.id === id);
    if (waiting >= 0) {
      this.#queue.splice(waiting, 1);
    }
    this.#running.get(id)?.abort();
  }

  async #empty(): Promise<void> {
    if (this.#isEmptying) {
      return;
    }
    this.#isEmptying = true;
    for (;;) {
      await nextTask();
      const call = this.#queue.shift();
      if (call === undefined) {
        break;
      }
      void this.#run(call);
    }
    this.#isEmptying = false;
  }

  /** It does not start: nothing will be answered. */
  fail(error: unknown): void {
    send({ id: 0, error: this.#failureOf(error) });
  }

  async #run(call: Call): Promise<void> {
    const { id } = call;
    const abort = new AbortController();
    this.#running.set(id, abort);
    try {
      const ok = await this.#answer(call, abort.signal, (progress) => send({ id, progress }));
      send({ id, ok }, buffersOf(ok));
    } catch (error) {
      send({ id, error: this.#failureOf(error) });
    } finally {
      this.#running.delete(id);
    }
  }

  #failureOf(error: unknown): SessionFailure {
    if (error instanceof CancelledCall || (error instanceof DOMException && error.name === "AbortError")) {
      return { kind: "cancelled", message: "cancelled" };
    }
    if (isFailure(error)) {
      return error;
    }
    const { perftabPanic } = self as { perftabPanic?: string };
    const megabytes = Math.round(this.#held() / 1e6);
    const words = [String(error), perftabPanic ?? "", `the session held ${megabytes} MB`];
    return { kind: "died", message: words.filter((each) => each !== "").join("\n") };
  }
}

/** The columns of an answer, or of its parts, which move instead of being copied. */
function buffersOf(answer: unknown): Transferable[] {
  const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;
  const columnsOf = (part: object): Transferable[] =>
    Object.values(part).flatMap((value) => (ArrayBuffer.isView(value) ? [value.buffer as ArrayBuffer] : []));
  if (!isObject(answer)) {
    return [];
  }
  const parts = Object.values(answer).filter((part) => isObject(part) && !Array.isArray(part) && !ArrayBuffer.isView(part));
  return [answer, ...parts].flatMap(columnsOf);
}

function send(reply: Reply, transfer: Transferable[] = []): void {
  self.postMessage(reply, { transfer });
}

function isFailure(error: unknown): error is SessionFailure {
  return typeof error === "object" && error !== null && !(error instanceof Error) && "kind" in error && "message" in error;
}
