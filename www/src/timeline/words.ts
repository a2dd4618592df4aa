// Times as people read them: "21.60 s", "26.140 s to 28.420 s", "5 s" on the ruler.

import type { TimeSpan } from "./time_window.ts";
import { lengthOf } from "./time_window.ts";

const SECOND = 1e9;
const MOST_DECIMALS = 9;

/** Why a range, the heat map or the time order is not to be had. */
export const NO_SINGLE_SAMPLES = "This link has no individual samples. Open the original recording instead.";

/** Decimals of seconds with which a length of time has four figures, and two at least. */
export function decimalsFor(length: number): number {
  const digits = Math.floor(Math.log10(Math.max(1, length) / SECOND)) + 1;
  return Math.min(MOST_DECIMALS, Math.max(2, 4 - digits));
}

/** The fewest decimals, two or three at least, that write times exactly; no more than the length between them asks for. */
function fewestDecimals(times: readonly number[], length: number): number {
  const most = decimalsFor(length);
  for (let decimals = Math.min(3, most); decimals < most; decimals++) {
    const step = SECOND / 10 ** decimals;
    if (times.every((time) => Math.round(time) % step === 0)) {
      return decimals;
    }
  }
  return most;
}

export function secondsWith(time: number, decimals: number): string {
  return `${(time / SECOND).toFixed(decimals)} s`;
}

/** "21.60 s to 31.85 s", "26.140 s to 28.420 s" */
export function rangeWords(range: TimeSpan): string {
  const decimals = fewestDecimals([range.start, range.end], lengthOf(range));
  return `${secondsWith(range.start, decimals)} to ${secondsWith(range.end, decimals)}`;
}

export function lengthWords(range: TimeSpan): string {
  return secondsWith(lengthOf(range), fewestDecimals([lengthOf(range)], lengthOf(range)));
}

/** "35.1 s": no more decimals than it has, one at least. */
export function shortSeconds(time: number): string {
  const text = (time / SECOND).toFixed(MOST_DECIMALS).replace(/0+$/, "");
  return `${text.endsWith(".") ? `${text}0` : text} s`;
}

export function noSamplesIn(range: TimeSpan): string {
  return `No samples from ${shortSeconds(range.start)} to ${shortSeconds(range.end)}.`;
}
