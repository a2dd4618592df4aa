// What the moving parts behind a view's canvases have in common. Everything that changes what is on screen ends in
// `invalidate`; what is to be painted is painted in the next animation frame, and only when something changed.
//
// All callbacks of an animation frame, layout and paint are one task. A first flame graph and a first timeline of a large
// recording took 21 and 12 of its 43 ms of processor time, so a stage that finds the frame well used waits for the next one.

import { signal } from "@preact/signals";
import type { CanvasSize } from "./backing.ts";
import { followSize } from "./backing.ts";

/** Of an animation frame, for painting, in ms. The stage that passes it ends it. */
const BUDGET = 8;

interface Waiting {
  paintDue(now: number): void;
}

/** What is to be painted, the longest waiting first, and whether a frame was asked for. */
let waiting: Waiting[] = [];
let asked = false;

function askForFrame(): void {
  if (!asked) {
    asked = true;
    requestAnimationFrame(paintWaiting);
  }
}

function paintWaiting(now: number): void {
  asked = false;
  const begun = performance.now();
  // What painting itself makes wait, an animation, is for the next frame.
  const inTurn = waiting;
  waiting = [];
  try {
    do {
      inTurn.shift()?.paintDue(now);
    } while (inTurn.length > 0 && performance.now() - begun < BUDGET);
  } finally {
    waiting = [...inTurn, ...waiting];
    if (waiting.length > 0) {
      askForFrame();
    }
  }
}

export abstract class CanvasStage<Work extends string> implements Waiting {
  /** CSS pixels of what is drawn; 0 before it has a size. */
  readonly width = signal(0);
  readonly #order: readonly Work[];
  readonly #stops: (() => void)[] = [];
  #work: Work | null = null;

  /** What there is to paint, each including the ones before it. To scroll needs the last. */
  constructor(order: readonly Work[], scroller: HTMLElement | null) {
    this.#order = order;
    if (scroller !== null) {
      this.listen(scroller, "scroll", () => this.invalidate(order.at(-1) as Work));
    }
  }

  dispose(): void {
    waiting = waiting.filter((stage) => stage !== this);
    this.#work = null;
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
    if (this.#work === null) {
      waiting.push(this);
      askForFrame();
    }
    if (this.#work === null || this.#order.indexOf(work) > this.#order.indexOf(this.#work)) {
      this.#work = work;
    }
  }

  paintDue(now: number): void {
    const due = this.#work;
    this.#work = null;
    if (due !== null) {
      this.paint(due, now);
    }
  }

  protected abstract paint(work: Work, now: number): void;
}
