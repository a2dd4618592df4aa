// Long work in slices, so that a cancel arrives while it runs.

import type { Progress } from "../session/types.ts";
import type { Gate } from "./precedence.ts";

/** How long the worker may be deaf. */
export const SLICE_MS = 40;

export class CancelledCall extends Error {}

export class Slices {
  readonly signal: AbortSignal;
  readonly #report: (progress: Progress) => void;
  readonly #beside: Gate | null;
  #since = performance.now();
  #holdsTurn = false;

  /** `beside` is what the work lets others go before. */
  constructor(signal: AbortSignal, report: (progress: Progress) => void, beside: Gate | null = null) {
    this.signal = signal;
    this.#report = report;
    this.#beside = beside;
  }

  /** Between two steps: once a slice is over, reports, lets messages in, and throws if one of them cancelled. */
  async breathe(progress: Progress): Promise<void> {
    if (performance.now() - this.#since < (this.#beside?.sliceMs ?? SLICE_MS)) {
      return;
    }
    this.#report(progress);
    await nextTask();
    await this.#letOthersGoBefore();
    this.check();
    this.#since = performance.now();
  }

  async #letOthersGoBefore(): Promise<void> {
    if (!this.#holdsTurn && this.#beside !== null && !this.signal.aborted) {
      await this.#beside.mayGoOn(this.signal);
    }
  }

  /** While others wait for their turn nothing is waited for but messages. */
  async inTurn<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    this.#holdsTurn = true;
    try {
      return await work();
    } finally {
      this.#holdsTurn = false;
    }
  }

  /**
   * Waits for what others do; where that takes longer than a slice, says how far it is meanwhile. By then somebody may look at
   * something, which goes before what is done with it.
   */
  async wait<T>(event: Promise<T>, progress: Progress): Promise<T> {
    const late = setTimeout(() => this.#report(progress), SLICE_MS);
    try {
      return await event;
    } finally {
      clearTimeout(late);
      await this.#letOthersGoBefore();
    }
  }

  /** Says how far the work is, where others do it. */
  report(progress: Progress): void {
    this.#report(progress);
  }

  check(): void {
    if (this.signal.aborted) {
      throw new CancelledCall();
    }
  }
}

/** Resolves after the messages that have already arrived. A timer would be slowed down in a hidden tab. */
export function nextTask(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}
