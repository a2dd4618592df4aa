// Files that arrive one after the other give their names together: for new names every view is made again, and a recording of
// a whole system has dozens of files.

/** Between two times that names are shown, unless nothing else is to come. */
const REST_MS = 2000;
/** And as many times what naming took: the views that are made again then take as long once more. */
const RESTS = 2;
/** Files that have a smaller share of the samples, together, wait for the next one. */
const LITTLE = 0.001;

export class Arrivals {
  readonly #showNames: () => Promise<void>;
  /** The share of the samples of what has arrived and is not shown; null for nothing. */
  #waiting: number | null = null;
  #isLast = false;
  #state: "idle" | "showing" | "resting" = "idle";
  #rest: ReturnType<typeof setTimeout> | undefined;

  constructor(showNames: () => Promise<void>) {
    this.#showNames = showNames;
  }

  /** The session has a file that is on so large a share of the samples. */
  fileArrived(share: number): void {
    this.#waiting = (this.#waiting ?? 0) + share;
    this.#showIfDue();
  }

  /** No other file is on its way: what has arrived is shown now. */
  allArrived(): void {
    this.#isLast = this.#waiting !== null;
    this.#showIfDue();
  }

  #showIfDue(): void {
    if (this.#waiting === null || this.#state === "showing") {
      return;
    }
    if (this.#isLast || (this.#state === "idle" && this.#waiting >= LITTLE)) {
      void this.#show();
    }
  }

  async #show(): Promise<void> {
    clearTimeout(this.#rest);
    this.#waiting = null;
    this.#isLast = false;
    this.#state = "showing";
    const began = Date.now();
    try {
      await this.#showNames();
    } finally {
      this.#state = "resting";
      const rest = Math.max(REST_MS, RESTS * (Date.now() - began));
      this.#rest = setTimeout(() => {
        this.#state = "idle";
        this.#showIfDue();
      }, rest);
      this.#showIfDue();
    }
  }
}
