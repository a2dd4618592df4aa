// The canvases of the heat map, and their sizes.

import { fitBacking, NO_SIZE } from "../views/backing.ts";
import { CanvasStage } from "../views/canvas_stage.ts";
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

/** Its width is that of the scroller. */
export class HeatStage extends CanvasStage<"chosen" | "cells"> {
  readonly #el: HeatElements;
  readonly #cells: CanvasRenderingContext2D;
  readonly #chosen: CanvasRenderingContext2D;
  readonly #side: CanvasRenderingContext2D;
  #palette: HeatPalette | null = null;
  #cellsSize = NO_SIZE;
  #sideSize = NO_SIZE;
  #font = "";
  #grid: Grid | null = null;
  #answer: HeatMap | null = null;
  #marks: HeatMarks = { range: null, cursor: null, hovered: null };
  #painted = false;

  constructor(elements: HeatElements) {
    super(["chosen", "cells"], elements.scroller);
    this.#el = elements;
    this.#cells = this.paintOn(elements.cells, (size) => {
      this.#cellsSize = size;
      this.width.value = Math.max(0, size.width - 2 * EDGE);
      this.invalidate("cells");
    });
    this.#chosen = this.paintOn(elements.chosen);
    this.#side = this.paintOn(elements.side, (size) => {
      this.#sideSize = size;
      this.invalidate("cells");
    });
  }

  show(grid: Grid, answer: HeatMap | null): void {
    this.#grid = grid;
    this.#answer = answer;
    this.invalidate("cells");
  }

  mark(change: Partial<HeatMarks>): void {
    this.#marks = { ...this.#marks, ...change };
    this.invalidate("chosen");
  }

  themeChanged(): void {
    this.#palette = null;
    this.invalidate("cells");
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

  protected override paint(work: "chosen" | "cells"): void {
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
    if (work === "cells") {
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
