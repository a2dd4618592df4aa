// A profile that is shown while it is read: the first of it soon, then more of it, then all.

import { showFacts } from "../ledger/admit.ts";
import type { CallOptions } from "../session/client.ts";
import type { Facts, Progress } from "../session/types.ts";
import { isGrowing, session, shownShare } from "../state/app.ts";
import { TAKEN_OVER } from "../state/take_over.ts";
import { progressShare } from "../state/tasks.ts";
import { renewFacts } from "../views/places.ts";
import { Looks } from "./so_far.ts";

export class GrowingProfile {
  readonly #show: (facts: Facts) => void;
  readonly #looks = new Looks();
  #look: Promise<void> | null = null;
  #isShown = false;

  /** `show` puts the profile in the place of what was open. */
  constructor(show: (facts: Facts) => void) {
    this.#show = show;
  }

  /** Whether any of it is shown. */
  get isShown(): boolean {
    return this.#isShown;
  }

  /** Options for the call that reads it. Whoever cancels what is shown already keeps it: reading ends there. */
  watching({ signal, onProgress }: Required<CallOptions>): Required<CallOptions> {
    const abort = new AbortController();
    const cancel = (): void => {
      if (this.#isShown && signal.reason !== TAKEN_OVER) {
        void session
          .peek()
          ?.call("stopReading", {})
          .catch(() => {});
      } else {
        abort.abort();
      }
    };
    signal.addEventListener("abort", cancel, { once: true });
    const watch = (progress: Progress): void => {
      onProgress(progress);
      const now = performance.now();
      // Nobody looks at a hidden tab, and it paints nothing.
      if (this.#look === null && !signal.aborted && !document.hidden && this.#looks.isDue(progress, now)) {
        this.#looks.looked(now);
        this.#look = this.#lookAtIt(progressShare(progress) ?? 0).finally(() => {
          this.#look = null;
        });
      }
    };
    return { signal: abort.signal, onProgress: watch };
  }

  /** It has been read; null where that failed, and what is shown stays. */
  async end(facts: Facts | null): Promise<void> {
    await this.#look;
    if (facts !== null) {
      await this.#take(facts);
    }
    if (this.#isShown) {
      isGrowing.value = false;
    }
  }

  /** Not to be cancelled: once the worker has put more in the place of less, the page must know. */
  async #lookAtIt(share: number): Promise<void> {
    try {
      const facts = (await session.peek()?.call("readSoFar", {})) ?? null;
      if (facts !== null) {
        isGrowing.value = true;
        shownShare.value = share;
        await this.#take(facts);
      }
    } catch {
      // Whoever reads it is told.
    }
  }

  async #take(facts: Facts): Promise<void> {
    const present = session.peek();
    if (present === null) {
      return;
    }
    if (!this.#isShown) {
      this.#isShown = true;
      this.#show(facts);
      return;
    }
    await renewFacts(present, (more) => showFacts(present, more));
  }
}
