// Long work in slices, so that a cancel arrives while it runs.

import type { Progress } from "../session/types.ts";

/** How long the worker may be deaf. */
const SLICE_MS = 40;

export class CancelledCall extends Error {}

export class Slices {
  readonly signal: AbortSignal;
  readonly #report: (progress: Progress) => void;
  #since = performance.now();

  constructor(signal: AbortSignal, report: (progress: Progress) => void) {
    this.signal = signal;
    this.#report = report;
  }

  /** Between two steps: once a slice is over, reports, lets messages in, and throws if one of them cancelled. */
  async breathe(progress: Progress): Promise<void> {
    if (performance.now() - this.#since < SLICE_MS) {
      return;
    }
    this.#report(progress);
    await nextTask();
    this.check();
    this.#since = performance.now();
  }

  /** Waits for what others do; where that takes longer than a slice, says how far it is meanwhile. */
  async wait<T>(event: Promise<T>, progress: Progress): Promise<T> {
    const late = setTimeout(() => this.#report(progress), SLICE_MS);
    try {
      return await event;
    } finally {
      clearTimeout(late);
    }
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
