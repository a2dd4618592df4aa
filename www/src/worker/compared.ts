// The recording beside the one that is open, and the comparison that was asked for last.
//
// A comparison holds two call trees as one, so only one is kept: whoever looks at one asks about it again and again.

import type { Session } from "../generated/perftab_web.js";
import { Comparison } from "../generated/perftab_web.js";
import type { CompareRequest, Which } from "../session/types.ts";

export class Compared {
  #second: Session | null = null;
  /** The generations of second sessions that were closed, so that none comes twice. */
  #past = 0;
  #kept: { key: string; comparison: Comparison } | null = null;

  /** Changes whenever its names do, and when another is opened. */
  get generation(): number {
    return this.#past + (this.#second?.generation ?? 0);
  }

  get second(): Session {
    if (this.#second === null) {
      throw { kind: "nothing-open", message: "no second profile is open" };
    }
    return this.#second;
  }

  get secondOrNull(): Session | null {
    return this.#second;
  }

  /** Null closes it. */
  replace(second: Session | null): void {
    this.#forget();
    this.#past = this.generation + 1;
    this.#second?.free();
    this.#second = second;
  }

  /** The comparison of a request, made if it was not the last one. `generation` tells names from other names. */
  of({ before, after }: CompareRequest, first: Session, generation: number): Comparison {
    const key = JSON.stringify([generation, before, after]);
    if (this.#kept?.key !== key) {
      this.#forget();
      const session = (which: Which): Session => (which === "first" ? first : this.second);
      const comparison = new Comparison(session(before.which), before.query, session(after.which), after.query);
      this.#kept = { key, comparison };
    }
    return this.#kept.comparison;
  }

  #forget(): void {
    this.#kept?.comparison.free();
    this.#kept = null;
  }
}
