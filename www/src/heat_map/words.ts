// What the heat map says: cells and stretches as finely as cells are, in milliseconds at least.

import { event } from "../state/app.ts";
import { count, countSamples } from "../state/format.ts";
import type { TimeSpan } from "../timeline/time_window.ts";
import { decimalsOf } from "../timeline/ticks.ts";
import { decimalsFor, secondsWith } from "../timeline/words.ts";
import { lengthOf } from "../timeline/time_window.ts";
import type { Grid, SpanSum } from "./grid.ts";
import { timeOfCell } from "./grid.ts";

const DECIMALS = 3;

export function cellTime(time: number, grid: Grid): string {
  return secondsWith(time, Math.max(DECIMALS, decimalsOf(timeOfCell(grid))));
}

/** "28.400 s to 28.420 s" */
export const cellSpan = ({ start, end }: TimeSpan, grid: Grid): string => `${cellTime(start, grid)} to ${cellTime(end, grid)}`;

/** "28.400 s, 304 samples" */
export const cellLabel = (span: TimeSpan, samples: number, grid: Grid): string =>
  `${cellTime(span.start, grid)}, ${countSamples(samples)}`;

/** What a column is, and what a cell. */
export function axisWords(grid: Grid): string {
  return `a column is ${roundTime(grid.period)}, a cell ${roundTime(timeOfCell(grid))} of it, downwards`;
}

/** A round time: "0.2 ms", "100 ms", "10 s", "1 min" */
export function roundTime(nanoseconds: number): string {
  const [unit, length] = unitFor(nanoseconds);
  return `${nanoseconds / length} ${unit}`;
}

/** A period in fifths, in the unit of all of it, which only the first says: "0 ms", "20", … "100" */
export function fifthsOf(period: number): string[] {
  const [unit, length] = unitFor(period / 5);
  return [0, 1, 2, 3, 4, 5].map((fifths) => (fifths === 0 ? `0 ${unit}` : String((fifths * period) / 5 / length)));
}

function unitFor(nanoseconds: number): readonly [string, number] {
  return nanoseconds < 1e9 ? ["ms", 1e6] : nanoseconds < 6e10 ? ["s", 1e9] : ["min", 6e10];
}

/** Whether time is counted in which nothing ran. */
export const isOffCpu = (): boolean => /^(offcpu|preempted)-time/.test(event.value?.name ?? "");

/** "2.280 s, 31,877 samples, 14.0 CPUs busy on average (whole profile: 6.9)" */
export function sumWords(span: TimeSpan, cell: SpanSum, all: SpanSum | null): string {
  const length = secondsWith(lengthOf(span), Math.max(DECIMALS, decimalsFor(lengthOf(span))));
  const sum = `${length}, ${countSamples(cell.samples)}`;
  if (cell.cpusBusy === null) {
    return sum;
  }
  const busy = cell.cpusBusy.toFixed(1);
  const what = isOffCpu() ? "threads off-CPU" : busy === "1.0" ? "CPU busy" : "CPUs busy";
  const against = all === null || all.cpusBusy === null ? "" : ` (whole profile: ${all.cpusBusy.toFixed(1)})`;
  return `${sum}, ${busy} ${what} on average${against}`;
}

/** "15.2 of 16" */
export function busyWords(busy: number, cpus: number): string {
  return cpus > 0 && !isOffCpu() ? `${busy.toFixed(1)} of ${count(cpus)}` : busy.toFixed(1);
}
