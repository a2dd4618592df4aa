// Paints the heat map: cells, sums of rows, scale, and on a canvas above them what is chosen. In device pixels.

import { hairline, snap } from "../views/flame/snap.ts";
import type { HeatMap } from "../session/types.ts";
import type { Grid } from "./grid.ts";
import { CELL_HEIGHT, cellsOf, EDGE, outlineOf } from "./grid.ts";
import type { HeatPalette } from "./palette.ts";
import { shadeOf } from "./palette.ts";
import { decimalsOf } from "../timeline/ticks.ts";
import type { TimeSpan } from "../timeline/time_window.ts";
import { roundStep } from "../timeline/time_window.ts";
import { secondsWith } from "../timeline/words.ts";

export interface HeatScene {
  grid: Grid;
  /** Null, or of another grid, while it is being asked for. */
  answer: HeatMap | null;
  scrollLeft: number;
  /** CSS pixels that are in sight. */
  width: number;
  ratio: number;
  textScale: number;
  font: string;
}

/** CSS pixels, as heat_map.css has them too. */
export const TOTALS_WIDTH = 90;
export const SCALE = { left: 113, width: 12, height: 300 } as const;
const AXIS_GAP = 14;
/** Between words on the axis of columns. */
const FEWEST_PX = 64;

export function paintCells(ctx: CanvasRenderingContext2D, scene: HeatScene, palette: HeatPalette): void {
  const { grid, answer, scrollLeft, width } = scene;
  ctx.fillStyle = palette.ground;
  ctx.fillRect(0, 0, ctx.canvas.width, ctx.canvas.height);
  // Scrolled under the edge, cells are seen there too.
  const first = Math.max(0, Math.floor((scrollLeft - EDGE) / grid.cell));
  const past = Math.min(grid.columns, Math.ceil((scrollLeft + width + EDGE) / grid.cell));
  fromEdge(ctx, scene);
  if (answer?.rows === grid.rows) {
    paintByShade(ctx, scene, palette, answer, [first, Math.min(past, answer.columns)]);
  }
  paintTimes(ctx, scene, palette, [first, past]);
  ctx.resetTransform();
}

function fromEdge(ctx: CanvasRenderingContext2D, { ratio }: HeatScene): void {
  ctx.setTransform(1, 0, 0, 1, snap(EDGE, ratio), snap(EDGE, ratio));
}

/** Cells of one colour after the other: a change of colour costs more than a cell. */
function paintByShade(
  ctx: CanvasRenderingContext2D,
  { grid, scrollLeft, ratio }: HeatScene,
  palette: HeatPalette,
  answer: HeatMap,
  [first, past]: [number, number],
): void {
  const most = mostBusy(answer);
  const byShade = palette.heat.map((): number[] => []);
  for (let cell = first * grid.rows; cell < past * grid.rows; cell++) {
    byShade[shadeOf(palette, (answer.busy[cell] as number) / most)]?.push(cell);
  }
  const gap = hairline(ratio);
  byShade.forEach((cells, shade) => {
    ctx.fillStyle = palette.heat[shade] ?? palette.ground;
    for (const cell of cells) {
      const column = Math.floor(cell / grid.rows);
      const row = cell - column * grid.rows;
      const left = snap(column * grid.cell - scrollLeft, ratio);
      const top = snap(row * CELL_HEIGHT, ratio);
      const right = snap((column + 1) * grid.cell - scrollLeft, ratio);
      ctx.fillRect(left, top, right - left - gap, snap((row + 1) * CELL_HEIGHT, ratio) - top - gap);
    }
  });
}

/** What the darkest cell stands for: all CPUs, or where their number is not known, the busiest cell. */
export function mostBusy({ cpus, busy }: HeatMap): number {
  return cpus > 0 ? cpus : Math.max(1, Math.ceil(busy.reduce((most, each) => Math.max(most, each), 0)));
}

function paintTimes(
  ctx: CanvasRenderingContext2D,
  scene: HeatScene,
  palette: HeatPalette,
  [first, past]: [number, number],
): void {
  const { grid, scrollLeft, ratio, textScale } = scene;
  const step = Math.max(1, roundStep((FEWEST_PX * textScale) / grid.cell));
  const decimals = decimalsOf(grid.period);
  ctx.font = `${11 * textScale * ratio}px ${scene.font}`;
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  ctx.fillStyle = palette.quiet;
  const y = (grid.rows * CELL_HEIGHT + AXIS_GAP * textScale) * ratio;
  const from = Math.ceil((grid.first + first) / step) * step;
  for (let column = from; column < grid.first + past; column += step) {
    ctx.fillText(secondsWith(column * grid.period, decimals), snap((column - grid.first) * grid.cell - scrollLeft, ratio), y);
  }
}

/** Sums of each row over all columns, and what colours mean. */
export function paintSide(ctx: CanvasRenderingContext2D, scene: HeatScene, palette: HeatPalette): void {
  const { answer, grid, ratio, textScale } = scene;
  ctx.clearRect(0, 0, ctx.canvas.width, ctx.canvas.height);
  if (!answer || answer.rows !== grid.rows) {
    return;
  }
  const most = answer.rowTotals.reduce((all, each) => Math.max(all, each), 0);
  const gap = hairline(ratio);
  ctx.fillStyle = palette.totals;
  for (let row = 0; row < answer.rows && most > 0; row++) {
    const top = snap(row * CELL_HEIGHT, ratio);
    const width = Math.round(((answer.rowTotals[row] as number) / most) * TOTALS_WIDTH * ratio);
    ctx.fillRect(0, top, width, snap((row + 1) * CELL_HEIGHT, ratio) - top - gap);
  }
  const height = Math.min(SCALE.height, grid.rows * CELL_HEIGHT);
  const left = snap(SCALE.left, ratio);
  const right = snap(SCALE.left + SCALE.width, ratio);
  const shades = palette.heat.length;
  palette.heat.forEach((colour, shade) => {
    const bottom = snap(height * (1 - shade / shades), ratio);
    const top = snap(height * (1 - (shade + 1) / shades), ratio);
    ctx.fillStyle = colour;
    ctx.fillRect(left, top, right - left, bottom - top);
  });
  ctx.fillStyle = palette.line;
  ctx.fillRect(left - gap, 0, gap, snap(height, ratio));
  ctx.fillRect(right, 0, gap, snap(height, ratio));
  ctx.fillRect(left - gap, snap(height, ratio), right - left + 2 * gap, gap);
  const busiest = mostBusy(answer);
  const labels = busiest % 2 === 0 ? [0, busiest / 2, busiest] : [0, busiest];
  ctx.font = `${11 * textScale * ratio}px ${scene.font}`;
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  ctx.fillStyle = palette.quiet;
  const inset = 5.5 * textScale;
  for (const label of labels) {
    const y = Math.min(height - inset, Math.max(inset, height * (1 - label / busiest)));
    ctx.fillText(String(label), right + 6 * ratio, y * ratio);
  }
}

export interface HeatMarks {
  range: TimeSpan | null;
  /** Numbers of cells. */
  cursor: number | null;
  hovered: number | null;
}

export function paintChosen(ctx: CanvasRenderingContext2D, scene: HeatScene, palette: HeatPalette, marks: HeatMarks): void {
  ctx.clearRect(0, 0, ctx.canvas.width, ctx.canvas.height);
  const { grid, ratio } = scene;
  const line = hairline(ratio);
  fromEdge(ctx, scene);
  const cells = (span: [number, number], colour: string, width: number): void => {
    ctx.strokeStyle = colour;
    ctx.lineWidth = width;
    ctx.lineJoin = "miter";
    for (const corners of outlineOf(span, grid.rows)) {
      trace(ctx, scene, corners);
    }
  };
  if (marks.range) {
    const span = cellsOf(marks.range, grid);
    cells(span, palette.ground, 4 * line);
    cells(span, palette.accent, 2 * line);
  }
  for (const [cell, width] of [
    [marks.hovered, line],
    [marks.cursor, 2 * line],
  ] as const) {
    if (cell !== null) {
      const place = cell - grid.first * grid.rows;
      cells([place, place + 1], palette.ground, width + 2 * line);
      cells([place, place + 1], palette.ink, width);
    }
  }
  ctx.resetTransform();
}

/** Along the gaps between cells. */
function trace(
  ctx: CanvasRenderingContext2D,
  { grid, scrollLeft, ratio }: HeatScene,
  corners: readonly (readonly [number, number])[],
): void {
  const half = hairline(ratio) / 2;
  ctx.beginPath();
  for (const [column, row] of corners) {
    ctx.lineTo(snap(column * grid.cell - scrollLeft, ratio) - half, snap(row * CELL_HEIGHT, ratio) - half);
  }
  ctx.closePath();
  ctx.stroke();
}
