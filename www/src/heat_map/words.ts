// What the heat map says: cells and stretches in milliseconds, since no cell is finer.

import { event } from "../state/app.ts";
import { count, countSamples } from "../state/format.ts";
import type { TimeSpan } from "../timeline/time_window.ts";
import { decimalsFor, secondsWith } from "../timeline/words.ts";
import { lengthOf } from "../timeline/time_window.ts";
import type { SpanSum } from "./grid.ts";

const DECIMALS = 3;

export const cellTime = (time: number): string => secondsWith(time, DECIMALS);

/** "28.400 s to 28.420 s" */
export const cellSpan = ({ start, end }: TimeSpan): string => `${cellTime(start)} to ${cellTime(end)}`;

/** "28.400 s, 304 samples" */
export const cellLabel = (span: TimeSpan, samples: number): string => `${cellTime(span.start)}, ${countSamples(samples)}`;

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
