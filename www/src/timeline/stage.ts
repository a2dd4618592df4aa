// The moving parts behind the timeline's two canvases: size, scroll position, what is marked.

import type { CanvasSize } from "../views/backing.ts";
import { fitBacking, NO_SIZE } from "../views/backing.ts";
import { CanvasStage } from "../views/canvas_stage.ts";
import { textScale } from "../views/text_scale.ts";
import type { Marks, Timeline } from "../session/types.ts";
import { paintOverlay } from "./paint_overlay.ts";
import type { OverlayMarks } from "./paint_overlay.ts";
import { paintTracks } from "./paint_tracks.ts";
import type { TimePalette } from "./palette.ts";
import { readTimePalette } from "./palette.ts";
import type { Scene, Sizes } from "./scene.ts";
import { aloneSizes, RULER, trackSizes } from "./scene.ts";
import type { TimeSpan } from "./time_window.ts";

export interface TimeElements {
  /** What scrolls the tracks; null where there are none. */
  scroller: HTMLElement | null;
  tracks: HTMLCanvasElement;
  overlay: HTMLCanvasElement;
}

/** How much of the timeline there is room for. */
export type TimelineForm = "tracks" | "strip" | "phone";

/** Free at the right of the plot. */
export const MARGIN = 8;

/** Its width is that of the plot. */
export class TimeStage extends CanvasStage<"overlay" | "tracks"> {
  readonly #el: TimeElements;
  readonly #form: TimelineForm;
  readonly #tracks: CanvasRenderingContext2D;
  readonly #overlay: CanvasRenderingContext2D;
  #palette: TimePalette | null = null;
  #size = NO_SIZE;
  #textScale = textScale();
  #answer: Timeline | null = null;
  #rows: Scene["rows"] = [];
  #marks: Marks | null = null;
  #window: TimeSpan = { start: 0, end: 1 };
  #shown: OverlayMarks = { range: null, inverted: false, cursor: null, pointer: null };
  #painted = false;

  constructor(elements: TimeElements, form: TimelineForm) {
    super(["overlay", "tracks"], elements.scroller);
    this.#el = elements;
    this.#form = form;
    this.#tracks = this.paintOn(elements.tracks, (size) => this.#resized(size));
    this.#overlay = this.paintOn(elements.overlay);
  }

  show(answer: Timeline | null, rows: Scene["rows"]): void {
    this.#answer = answer;
    this.#rows = rows;
    this.invalidate("tracks");
  }

  showMarks(marks: Marks | null): void {
    this.#marks = marks;
    this.invalidate("tracks");
  }

  showWindow(window: TimeSpan): void {
    this.#window = window;
    this.invalidate("tracks");
  }

  mark(change: Partial<OverlayMarks>): void {
    this.#shown = { ...this.#shown, ...change };
    this.invalidate("overlay");
  }

  themeChanged(): void {
    this.#palette = null;
    this.#textScale = textScale();
    this.invalidate("tracks");
  }

  /** Scrolls to a row. */
  revealRow(row: number): void {
    const { scroller } = this.#el;
    const { row: height } = this.#sizes();
    if (scroller !== null && row >= 0) {
      const top = row * height;
      const past = top + height - scroller.clientHeight;
      scroller.scrollTop = Math.min(top, Math.max(past, scroller.scrollTop));
    }
  }

  /** Distance of a point of the window from the plot's left and top edges. */
  at(clientX: number, clientY: number): { x: number; y: number } {
    const place = this.#el.tracks.getBoundingClientRect();
    return { x: clientX - place.left, y: clientY - place.top };
  }

  /** What is on screen; null before it has a size. */
  get scene(): Scene | null {
    const width = this.width.peek();
    return width < 1
      ? null
      : {
          answer: this.#answer,
          rows: this.#rows,
          marks: this.#marks,
          window: this.#window,
          width,
          height: this.#size.height,
          scrollTop: this.#el.scroller?.scrollTop ?? 0,
          sizes: this.#sizes(),
          ratio: this.#size.ratio,
          textScale: this.#textScale,
        };
  }

  #sizes(): Sizes {
    switch (this.#form) {
      case "tracks":
        return trackSizes(this.#textScale);
      case "strip":
        return aloneSizes(this.#size.height, 0);
      case "phone": {
        // Collapsed it is as low as the strip, which has no ruler.
        const ruler = RULER * this.#textScale;
        return aloneSizes(this.#size.height, 2 * ruler < this.#size.height ? ruler : 0);
      }
    }
  }

  #resized(size: CanvasSize): void {
    if (size.ratio !== this.#size.ratio) {
      this.#palette = null;
    }
    this.#size = size;
    this.#textScale = textScale();
    this.width.value = Math.max(0, size.width - MARGIN);
    this.invalidate("tracks");
  }

  protected override paint(work: "overlay" | "tracks"): void {
    fitBacking(this.#el.tracks, this.#size);
    fitBacking(this.#el.overlay, this.#size);
    const { scene } = this;
    if (!scene) {
      return;
    }
    this.#palette ??= readTimePalette(this.#size.ratio);
    if (work === "tracks") {
      paintTracks(this.#tracks, scene, this.#palette);
      if (!this.#painted && scene.answer !== null) {
        this.#painted = true;
        performance.mark("perftab:timeline"); // What tests and measurements wait for.
      }
    }
    paintOverlay(this.#overlay, scene, this.#palette, this.#shown);
  }
}
