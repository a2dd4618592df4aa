// The canvases of the heat map: their sizes, and the one animation frame in which anything is painted.

import { signal } from "@preact/signals";
import { fitBacking, followSize, NO_SIZE } from "../views/backing.ts";
import { textScale } from "../views/text_scale.ts";
import type { HeatMap } from "../session/types.ts";
import type { Grid } from "./grid.ts";
import { CELL_HEIGHT, EDGE } from "./grid.ts";
import type { HeatMarks, HeatScene } from "./paint.ts";
import { paintCells, paintChosen, paintSide } from "./paint.ts";
import type { HeatPalette } from "./palette.ts";
import { readHeatPalette } from "./palette.ts";

export interface HeatElements {
  /** What scrolls sideways where columns do not fit. */
  scroller: HTMLElement;
  cells: HTMLCanvasElement;
  chosen: HTMLCanvasElement;
  side: HTMLCanvasElement;
}

export class HeatStage {
  /** CSS pixels of the scroller; 0 before it has a size. */
  readonly width = signal(0);
  readonly #el: HeatElements;
  readonly #cells: CanvasRenderingContext2D;
  readonly #chosen: CanvasRenderingContext2D;
  readonly #side: CanvasRenderingContext2D;
  readonly #unfollow: readonly (() => void)[];
  readonly #onScroll = (): void => this.#invalidate("cells");
  #palette: HeatPalette | null = null;
  #cellsSize = NO_SIZE;
  #sideSize = NO_SIZE;
  #font = "";
  #grid: Grid | null = null;
  #answer: HeatMap | null = null;
  #marks: HeatMarks = { range: null, cursor: null, hovered: null };
  #dirty: "nothing" | "chosen" | "cells" = "nothing";
  #frame = 0;
  #painted = false;

  constructor(elements: HeatElements) {
    const [cells, chosen, side] = [elements.cells, elements.chosen, elements.side].map((each) => each.getContext("2d"));
    if (!cells || !chosen || !side) {
      throw new Error("this browser gives no canvas to paint on");
    }
    this.#el = elements;
    [this.#cells, this.#chosen, this.#side] = [cells, chosen, side];
    this.#unfollow = [
      followSize(elements.cells, (size) => {
        this.#cellsSize = size;
        this.width.value = Math.max(0, size.width - 2 * EDGE);
        this.#invalidate("cells");
      }),
      followSize(elements.side, (size) => {
        this.#sideSize = size;
        this.#invalidate("cells");
      }),
    ];
    elements.scroller.addEventListener("scroll", this.#onScroll, { passive: true });
  }

  dispose(): void {
    cancelAnimationFrame(this.#frame);
    for (const end of this.#unfollow) {
      end();
    }
    this.#el.scroller.removeEventListener("scroll", this.#onScroll);
  }

  show(grid: Grid, answer: HeatMap | null): void {
    this.#grid = grid;
    this.#answer = answer;
    this.#invalidate("cells");
  }

  mark(change: Partial<HeatMarks>): void {
    this.#marks = { ...this.#marks, ...change };
    this.#invalidate("chosen");
  }

  themeChanged(): void {
    this.#palette = null;
    this.#invalidate("cells");
  }

  /** Distance of a point of the window from the top left corner of the first column. */
  at(clientX: number, clientY: number): { x: number; y: number } {
    const place = this.#el.cells.getBoundingClientRect();
    return { x: clientX - place.left + this.#el.scroller.scrollLeft - EDGE, y: clientY - place.top - EDGE };
  }

  /** Whether a point of the window is over a cell. */
  isOver(clientX: number, clientY: number): boolean {
    const grid = this.#grid;
    const { x, y } = this.at(clientX, clientY);
    return grid !== null && x >= 0 && x < grid.columns * grid.cell && y >= 0 && y < grid.rows * CELL_HEIGHT;
  }

  /** Scrolls to the column of a cell. */
  reveal(cell: number): void {
    const grid = this.#grid;
    if (grid !== null) {
      const left = (Math.floor(cell / grid.rows) - grid.first) * grid.cell;
      const { scroller } = this.#el;
      scroller.scrollLeft = Math.min(left, Math.max(left + grid.cell - scroller.clientWidth, scroller.scrollLeft));
    }
  }

  #invalidate(what: "chosen" | "cells"): void {
    if (this.#dirty !== "cells") {
      this.#dirty = what;
    }
    this.#frame ||= requestAnimationFrame(() => this.#paint());
  }

  #paint(): void {
    this.#frame = 0;
    const dirty = this.#dirty;
    this.#dirty = "nothing";
    const width = this.width.peek();
    if (this.#grid === null || width < 1) {
      return;
    }
    fitBacking(this.#el.cells, this.#cellsSize);
    fitBacking(this.#el.chosen, this.#cellsSize);
    fitBacking(this.#el.side, this.#sideSize);
    if (this.#palette === null) {
      this.#palette = readHeatPalette();
      this.#font = getComputedStyle(document.body).fontFamily;
    }
    const scene: HeatScene = {
      grid: this.#grid,
      answer: this.#answer,
      scrollLeft: this.#el.scroller.scrollLeft,
      width,
      ratio: this.#cellsSize.ratio,
      textScale: textScale(),
      font: this.#font,
    };
    if (dirty === "cells") {
      paintCells(this.#cells, scene, this.#palette);
      paintSide(this.#side, scene, this.#palette);
      if (!this.#painted && this.#answer !== null) {
        this.#painted = true;
        performance.mark("perftab:heat-map"); // What tests and measurements wait for.
      }
    }
    paintChosen(this.#chosen, scene, this.#palette, this.#marks);
  }
}
