// A range that grows by keys: shown while a key is held, and one step of the history when it is let go.

import type { TimeSpan } from "./time_window.ts";
import { spanOf } from "./time_window.ts";

export class KeyedRange {
  /** The edge that stays; null while no range is being made. */
  #anchor: number | null = null;
  #made: TimeSpan | null = null;
  readonly #preview: (range: TimeSpan) => void;
  readonly #keep: (range: TimeSpan) => void;

  constructor(preview: (range: TimeSpan) => void, keep: (range: TimeSpan) => void) {
    this.#preview = preview;
    this.#keep = keep;
  }

  /** The cursor moves to `time` and takes along the edge of the range that it was nearer to. */
  extend(from: number, time: number, range: TimeSpan | null): void {
    this.#anchor ??= range === null ? from : Math.abs(from - range.start) < Math.abs(from - range.end) ? range.end : range.start;
    this.show(spanOf(this.#anchor, time));
  }

  /** One edge of the range, or of the whole where there is none, moves to `time`. */
  moveEdge(edge: "start" | "end", time: number, range: TimeSpan): void {
    this.#anchor ??= edge === "start" ? range.end : range.start;
    this.show(spanOf(this.#anchor, time));
  }

  /** The key was let go. */
  settle(): void {
    const made = this.#made;
    this.#anchor = null;
    this.#made = null;
    if (made !== null && made.start < made.end) {
      this.#keep(made);
    }
  }

  /** The range that a key has made of it; the last one is kept. */
  show(range: TimeSpan): void {
    this.#made = range;
    this.#preview(range);
  }
}
