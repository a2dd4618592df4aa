// What the moving parts behind a view's canvases have in common. Everything that changes what is on screen ends in
// `invalidate`; what is to be painted is painted in the next animation frame, and only when something changed.

import { signal } from "@preact/signals";
import type { CanvasSize } from "./backing.ts";
import { followSize } from "./backing.ts";

export abstract class CanvasStage<Work extends string> {
  /** CSS pixels of what is drawn; 0 before it has a size. */
  readonly width = signal(0);
  readonly #order: readonly Work[];
  readonly #stops: (() => void)[] = [];
  #work: Work | null = null;
  #frame = 0;

  /** What there is to paint, each including the ones before it. To scroll needs the last. */
  constructor(order: readonly Work[], scroller: HTMLElement | null) {
    this.#order = order;
    if (scroller !== null) {
      this.listen(scroller, "scroll", () => this.invalidate(order.at(-1) as Work));
    }
  }

  dispose(): void {
    cancelAnimationFrame(this.#frame);
    for (const stop of this.#stops) {
      stop();
    }
  }

  protected listen(to: EventTarget, type: string, listener: () => void): void {
    to.addEventListener(type, listener, { passive: true });
    this.#stops.push(() => to.removeEventListener(type, listener));
  }

  /** What to paint with on a canvas whose size is told. */
  protected paintOn(canvas: HTMLCanvasElement, resized?: (size: CanvasSize) => void): CanvasRenderingContext2D {
    const context = canvas.getContext("2d");
    if (context === null) {
      throw new Error("this browser gives no canvas to paint on");
    }
    if (resized) {
      this.#stops.push(followSize(canvas, resized));
    }
    return context;
  }

  protected invalidate(work: Work): void {
    if (this.#work === null || this.#order.indexOf(work) > this.#order.indexOf(this.#work)) {
      this.#work = work;
    }
    this.#frame ||= requestAnimationFrame((now) => {
      const due = this.#work ?? work;
      this.#frame = 0;
      this.#work = null;
      this.paint(due, now);
    });
  }

  protected abstract paint(work: Work, now: number): void;
}
