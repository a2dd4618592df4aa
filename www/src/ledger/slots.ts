// So many of something at a time; the others wait in the order in which they came.

import { Cancelled } from "../session/client.ts";

export class Slots {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  /** Does the work in its turn. Whoever is cancelled before that leaves the queue. */
  async take<Answer>(signal: AbortSignal, work: () => Promise<Answer>): Promise<Answer> {
    await this.#turn(signal);
    try {
      return await work();
    } finally {
      this.#free += 1;
      this.#next();
    }
  }

  #turn(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        signal.removeEventListener("abort", leave);
        this.#free -= 1;
        resolve();
      };
      const leave = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(begin), 1);
        reject(new Cancelled());
      };
      if (signal.aborted) {
        reject(new Cancelled());
        return;
      }
      signal.addEventListener("abort", leave, { once: true });
      this.#waiting.push(begin);
      this.#next();
    });
  }

  #next(): void {
    if (this.#free > 0) {
      this.#waiting.shift()?.();
    }
  }
}
