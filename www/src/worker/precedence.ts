// What is looked at goes before what nobody waits for: names that arrive, timeline, facts beside the view.
//
// Otherwise all of it takes turns, slice by slice: the first graph of a profile would wait for its timeline, and a view that is
// opened while names arrive for the names, each slice of which makes its tree begin anew.

import type { Method } from "../session/types.ts";
import { nextTask, SLICE_MS } from "./slices.ts";

/** What the user looks at, or points to, or is about to. */
const LOOKED_AT: ReadonlySet<Method> = new Set<Method>([
  "accesses",
  "branchBlocks",
  "callNode",
  "callNodeDetail",
  "callTreeChildren",
  "comparedChanges",
  "comparedChildren",
  "comparedGraph",
  "embeddedSource",
  "flameGraph",
  "functions",
  "heatMap",
  "hotLines",
  "listCode",
  "rangePreview",
  "readSoFar",
  "readSource",
  "sandwich",
  "search",
  "timeOrder",
]);

/** What comes when it comes. */
const BESIDE: ReadonlySet<Method> = new Set<Method>([
  "dsoUsers",
  "exportSize",
  "fetchDebuginfod",
  "filteredCoverage",
  "hottestLine",
  "marks",
  "nameData",
  "nameFrames",
  "readBranches",
  "tasks",
  "timeline",
  "unwind",
]);

/** What is made of all names: it would begin anew with each slice of them that came meanwhile. */
const MADE: ReadonlySet<Method> = new Set<Method>(["export", "readPlaces", "share"]);

/** What brings names. */
const NAMING: ReadonlySet<Method> = new Set<Method>(["fetchDebuginfod", "nameData", "nameFrames", "readBranches", "unwind"]);

export const OPENING: ReadonlySet<Method> = new Set<Method>(["open", "openLink", "openUrl", "readSoFar"]);

/** What begins at once, and then goes on beside what of it is looked at. */
const READING: ReadonlySet<Method> = new Set<Method>(["open", "openUrl"]);

/** Reading a recording takes a twentieth longer in slices as short as this. */
const SLICE_BESIDE_MS = 10;

/** How long a profile that has opened waits to be looked at. */
const UNSEEN_MS = 1000;

/** What is asked between two slices of work that lets others go before. */
export interface Gate {
  /** How long those may have to wait. */
  readonly sliceMs: number;
  /** Resolves when it may go on, or is aborted. */
  mayGoOn(signal?: AbortSignal): Promise<void>;
}

/** Somebody at a gate. */
interface Waiting {
  isBusy: () => boolean;
  goOn: () => void;
}

/**
 * So many tasks after a slice, the first call that came while it ran has begun: the first task was posted before the slice,
 * and so before the call; then the desk (desk.ts) leaves each call a task for its cancel.
 */
const TASKS_UNTIL_BEGUN = 3;

export class Precedence {
  /** Calls under way that are looked at. */
  #lookedAt = 0;
  /** Links and files that are being made. */
  #made = 0;
  readonly #reading: Gate = { sliceMs: SLICE_MS, mayGoOn: (signal) => this.#until(() => this.#isBusy, signal) };
  readonly #beside: Gate = { ...this.#reading, sliceMs: SLICE_BESIDE_MS };
  readonly #ofNames: Gate = {
    ...this.#beside,
    mayGoOn: (signal) => this.#until(() => this.#isBusy || this.#made > 0, signal),
  };
  #unseen: ReturnType<typeof setTimeout> | undefined;
  readonly #waiting: Waiting[] = [];
  #isServing = false;

  /** Does the work of a call in its turn; a call `beside` asks `mayGoOn` between its slices. */
  async answer<Answer>(method: Method, work: (beside: Gate | null) => Promise<Answer>, signal?: AbortSignal): Promise<Answer> {
    if (BESIDE.has(method)) {
      const gate = NAMING.has(method) ? this.#ofNames : this.#beside;
      await gate.mayGoOn(signal);
      return await work(gate);
    }
    if (MADE.has(method)) {
      this.#made += 1;
      try {
        return await work(null);
      } finally {
        this.#made -= 1;
        void this.#serve();
      }
    }
    if (!LOOKED_AT.has(method)) {
      const answer = await work(READING.has(method) ? this.#reading : null);
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

  get #isBusy(): boolean {
    return this.#lookedAt > 0 || this.#unseen !== undefined;
  }

  #until(isBusy: () => boolean, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) {
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      const goOn = (): void => {
        signal?.removeEventListener("abort", leave);
        resolve();
      };
      const waiting = { isBusy, goOn };
      // Who is gone takes no turn.
      const leave = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        resolve();
      };
      signal?.addEventListener("abort", leave, { once: true });
      this.#waiting.push(waiting);
      void this.#serve();
    });
  }

  /** Lets those who wait go on for a slice, one after the other: what is asked for meanwhile waits for one slice, not for all. */
  async #serve(): Promise<void> {
    if (this.#isServing) {
      return;
    }
    this.#isServing = true;
    for (;;) {
      for (let task = 0; task < TASKS_UNTIL_BEGUN; task++) {
        await nextTask();
      }
      const next = this.#waiting.findIndex(({ isBusy }) => !isBusy());
      if (next < 0) {
        break;
      }
      this.#waiting.splice(next, 1)[0]?.goOn();
    }
    this.#isServing = false;
  }

  /** What is beside the first picture of a profile is asked for before that is: the page does not know its size yet. */
  #awaitLook(): void {
    clearTimeout(this.#unseen);
    this.#unseen = setTimeout(() => this.#seen(), UNSEEN_MS);
  }

  #seen(): void {
    clearTimeout(this.#unseen);
    this.#unseen = undefined;
    void this.#serve();
  }
}
