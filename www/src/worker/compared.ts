// The recording beside the one that is open, and the comparison that was asked for last.
//
// A comparison holds two call trees as one, so only one is kept: whoever looks at one asks about it again and again.

import type { Comparison, Session } from "../generated/perftab_web.js";
import { ComparisonWork } from "../generated/perftab_web.js";
import type { CompareRequest } from "../session/types.ts";
import { allSteps, ROWS } from "./scans.ts";
import type { Slices } from "./slices.ts";
import { CancelledCall } from "./slices.ts";

export class Comparisons {
  #second: Session | null = null;
  /** The generations of second sessions that were closed, so that none comes twice. */
  #past = 0;
  #kept: { key: string; comparison: Comparison } | null = null;
  #making: { key: string; work: ComparisonWork } | null = null;
  readonly #close: (second: Session | null) => void;

  constructor(close: (second: Session | null) => void) {
    this.#close = close;
  }

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
    this.forget();
    this.#past = this.generation + 1;
    this.#close(this.#second);
    this.#second = second;
  }

  /**
   * The comparison of a request, made in slices if it was not the last one. `generation` tells names from other names. A
   * call that is cancelled leaves what is made to the next.
   */
  async of(request: CompareRequest, first: Session, generation: () => number, slices: Slices): Promise<Comparison> {
    const keyOf = (): string => JSON.stringify([generation(), request.before, request.after]);
    if (this.#kept?.key === keyOf()) {
      return this.#kept.comparison;
    }
    const [before, after] = [request.before, request.after].map(({ which }) => (which === "first" ? first : this.second)) as [
      Session,
      Session,
    ];
    const key = JSON.stringify([request.before, request.after]);
    if (this.#making?.key !== key) {
      this.forget();
      this.#making = { key, work: new ComparisonWork(before, request.before.query, after, request.after.query) };
    }
    const { work } = this.#making;
    // Names that change meanwhile let it begin anew by itself.
    const step = (): ReturnType<ComparisonWork["step"]> => {
      if (this.#making?.work !== work) {
        throw new CancelledCall();
      }
      return work.step(before, after, ROWS);
    };
    const comparison = await allSteps([before, after], step, slices);
    this.forget();
    this.#kept = { key: keyOf(), comparison };
    return comparison;
  }

  /** What was compared is there no more, or is something else now. */
  forget(): void {
    this.#making?.work.free();
    this.#making = null;
    this.#kept?.comparison.free();
    this.#kept = null;
  }
}
