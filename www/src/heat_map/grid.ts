// Where cells lie: columns are periods, rows are parts of them downwards, and time runs down a column and on at the top of
// the next. A cell's number counts from the beginning of the recording. Distances are CSS pixels from the top left corner
// of the first column in sight.

import type { HeatMap } from "../session/types.ts";
import type { TimeSpan } from "../timeline/time_window.ts";
import { lengthOf } from "../timeline/time_window.ts";

/** Cells of a column. */
export type Rows = 20 | 50 | 100;

/** What a column is where less time than this is in sight. Seconds as long as they have room side by side. */
const PERIODS = [
  { below: 1.5e9, period: 1e7 },
  { below: 15e9, period: 1e8 },
  { below: 240e9, period: 1e9 },
  { below: 2400e9, period: 1e10 },
] as const;
const LONGEST_PERIOD = 6e10;

/** With the gap of 1 px below each. */
export const CELL_HEIGHT = 6;
const NARROWEST_CELL = 4;
/** Free around the cells, so that what is chosen at their edge is outlined wholly. */
export const EDGE = 3;

export interface Grid {
  /** Time of a column. */
  period: number;
  rows: Rows;
  /** Number of the first column in sight, and how many there are. */
  first: number;
  columns: number;
  /** Width of a column, with the gap of 1 px at its right. */
  cell: number;
}

/** Columns for a span of time: as wide as fits, in whole pixels, but never too narrow to be hit. */
export function gridFor(span: TimeSpan, rows: Rows, width: number): Grid {
  const period = periodFor(span);
  const first = Math.floor(span.start / period);
  const columns = Math.max(1, Math.ceil(span.end / period) - first);
  return { period, rows, first, columns, cell: Math.max(NARROWEST_CELL, Math.floor(width / columns)) };
}

/** A round time, of which cells are round times, too. */
export function periodFor(span: TimeSpan): number {
  return PERIODS.find(({ below }) => lengthOf(span) < below)?.period ?? LONGEST_PERIOD;
}

/** Of the worker's answer, the whole columns that a grid shows. */
export function spanOfGrid({ first, columns, period }: Grid): TimeSpan {
  return { start: first * period, end: (first + columns) * period };
}

/** Of a cell. */
export function timeOfCell({ period, rows }: Pick<Grid, "period" | "rows">): number {
  return period / rows;
}

export function cellAtTime(time: number, grid: Grid): number {
  return Math.floor(time / timeOfCell(grid));
}

export function spanOfCell(cell: number, grid: Grid): TimeSpan {
  return { start: cell * timeOfCell(grid), end: (cell + 1) * timeOfCell(grid) };
}

/** Both cells and all between them. */
export function spanOfCells(a: number, b: number, grid: Grid): TimeSpan {
  return { start: spanOfCell(Math.min(a, b), grid).start, end: spanOfCell(Math.max(a, b), grid).end };
}

/** The cell at a point; outside of the grid the nearest one. */
export function cellAt(x: number, y: number, grid: Grid): number {
  const column = Math.min(grid.columns - 1, Math.max(0, Math.floor(x / grid.cell)));
  const row = Math.min(grid.rows - 1, Math.max(0, Math.floor(y / CELL_HEIGHT)));
  return (grid.first + column) * grid.rows + row;
}

/** First and past-last place in the answer's columns of the cells that a span of time touches. */
export function cellsOf(span: TimeSpan, grid: Grid): [number, number] {
  const before = grid.first * grid.rows;
  const first = cellAtTime(span.start, grid) - before;
  const past = Math.ceil(span.end / timeOfCell(grid)) - before;
  const all = grid.columns * grid.rows;
  return [Math.min(all, Math.max(0, first)), Math.min(all, Math.max(0, past))];
}

export type Corner = readonly [column: number, row: number];

/**
 * The outline of contiguous cells, as corners in columns and rows: one shape of at most eight corners, or two rectangles
 * where a stretch shorter than a column goes on at the top of the next column.
 */
export function outlineOf([first, past]: [number, number], rows: number): Corner[][] {
  if (past <= first) {
    return [];
  }
  const [a, top] = [Math.floor(first / rows), first % rows];
  const [b, bottom] = [Math.floor((past - 1) / rows), ((past - 1) % rows) + 1];
  const box = (left: number, from: number, right: number, to: number): Corner[] => [
    [left, from],
    [right, from],
    [right, to],
    [left, to],
  ];
  if (a === b) {
    return [box(a, top, a + 1, bottom)];
  }
  if (b === a + 1 && bottom <= top) {
    return [box(a, top, b, rows), box(b, 0, b + 1, bottom)];
  }
  return [
    [
      [a + 1, 0],
      [b + 1, 0],
      [b + 1, bottom],
      [b, bottom],
      [b, rows],
      [a, rows],
      [a, top],
      [a + 1, top],
    ],
  ];
}

/** What a stretch of time comes to. */
export interface SpanSum {
  samples: number;
  /** null where there is no time to speak of. */
  cpusBusy: number | null;
}

/** Sums of the cells of a span that begins and ends with cells, or with the recording's end. */
export function sumOfCells(map: HeatMap, grid: Grid, span: TimeSpan, end: number): SpanSum {
  const [first, past] = cellsOf(span, grid);
  let samples = 0;
  let busy = 0;
  for (let cell = first; cell < past; cell++) {
    samples += map.samples[cell] ?? 0;
    busy += map.busy[cell] ?? 0;
  }
  const length = Math.min(end, span.end) - span.start;
  // All samples of a recording that is a nanosecond long were taken at one moment.
  const rate = length > 0 ? Math.min(map.cpus, (busy * timeOfCell(grid)) / length) : 0;
  return { samples, cpusBusy: end > 1 ? rate : null };
}
