// What is looked at goes before what nobody waits for: names that arrive, timeline, facts beside the view.
//
// Otherwise all of it takes turns, slice by slice: the first graph of a profile would wait for its timeline, and a view that is
// opened while names arrive for the names, each slice of which makes its tree begin anew.

import type { Method } from "../session/types.ts";
import { nextTask } from "./slices.ts";

/** What the user looks at, or points to, or is about to. */
const LOOKED_AT: ReadonlySet<Method> = new Set<Method>([
  "callNode",
  "callNodeDetail",
  "callTreeChildren",
  "comparedChanges",
  "comparedChildren",
  "comparedGraph",
  "flameGraph",
  "functions",
  "heatMap",
  "hotLines",
  "rangePreview",
  "readSoFar",
  "sandwich",
  "search",
  "timeOrder",
]);

/** What comes when it comes. */
const BESIDE: ReadonlySet<Method> = new Set<Method>([
  "dsoUsers",
  "fetchDebuginfod",
  "filteredCoverage",
  "marks",
  "nameFrames",
  "tasks",
  "timeline",
]);

/** What is made of all names: it would begin anew with each slice of them that came meanwhile. */
const MADE: ReadonlySet<Method> = new Set<Method>(["export", "share"]);

/** What brings names. */
const NAMING: ReadonlySet<Method> = new Set<Method>(["fetchDebuginfod", "nameFrames"]);

export const OPENING: ReadonlySet<Method> = new Set<Method>(["open", "openLink", "openUrl", "readSoFar"]);

/** What begins at once, and then goes on beside what of it is looked at. */
const READING: ReadonlySet<Method> = new Set<Method>(["open", "openUrl"]);

/** How long a profile that has opened waits to be looked at. */
const UNSEEN_MS = 1000;

/** What is asked between two slices of work that lets others go before. */
export interface Gate {
  /** Resolves when it may go on. */
  mayGoOn(): Promise<void>;
}

export class Precedence implements Gate {
  /** Calls under way that are looked at. */
  #lookedAt = 0;
  /** Links and files that are being made. */
  #made = 0;
  readonly #ofNames: Gate = { mayGoOn: () => this.#until(() => this.#isBusy || this.#made > 0) };
  #unseen: ReturnType<typeof setTimeout> | undefined;
  #waiting: (() => void)[] = [];

  /** Does the work of a call in its turn; a call `beside` asks `mayGoOn` between its slices. */
  async answer<Answer>(method: Method, work: (beside: Gate | null) => Promise<Answer>): Promise<Answer> {
    if (BESIDE.has(method)) {
      const gate = NAMING.has(method) ? this.#ofNames : this;
      await gate.mayGoOn();
      return await work(gate);
    }
    if (MADE.has(method)) {
      this.#made += 1;
      try {
        return await work(null);
      } finally {
        this.#made -= 1;
        this.#wake();
      }
    }
    if (!LOOKED_AT.has(method)) {
      const answer = await work(READING.has(method) ? this : null);
      if (OPENING.has(method)) {
        this.#awaitLook();
      }
      return answer;
    }
    this.#lookedAt += 1;
    let isToBeSeen = false;
    try {
      const answer = await work(null);
      isToBeSeen = OPENING.has(method) && answer !== null;
      return answer;
    } finally {
      this.#lookedAt -= 1;
      if (isToBeSeen) {
        this.#awaitLook();
      } else {
        this.#seen();
      }
    }
  }

  /** While a profile that has opened waits to be looked at, goes on with what will be: until `step` says that it is done. */
  async whileUnseen(step: () => boolean): Promise<void> {
    do {
      await nextTask();
    } while (this.#unseen !== undefined && this.#lookedAt === 0 && !step());
  }

  /** Resolves when nothing is looked at. */
  mayGoOn(): Promise<void> {
    return this.#until(() => this.#isBusy);
  }

  get #isBusy(): boolean {
    return this.#lookedAt > 0 || this.#unseen !== undefined;
  }

  async #until(isBusy: () => boolean): Promise<void> {
    while (isBusy()) {
      await new Promise<void>((goOn) => this.#waiting.push(goOn));
      // The answer that was waited for is sent first: each of those who wait may go on for a slice.
      await nextTask();
    }
  }

  /** What is beside the first picture of a profile is asked for before that is: the page does not know its size yet. */
  #awaitLook(): void {
    clearTimeout(this.#unseen);
    this.#unseen = setTimeout(() => this.#seen(), UNSEEN_MS);
  }

  #seen(): void {
    clearTimeout(this.#unseen);
    this.#unseen = undefined;
    this.#wake();
  }

  #wake(): void {
    for (const goOn of this.#waiting.splice(0)) {
      goOn();
    }
  }
}
