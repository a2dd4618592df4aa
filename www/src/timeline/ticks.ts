// Where the ruler has its ticks: at round times, no nearer to each other than their words need.

import type { TimeSpan } from "./time_window.ts";
import { lengthOf, roundStep } from "./time_window.ts";

export interface Tick {
  time: number;
  label: string;
}

const FEWEST_PX = 80;
/** Times are whole nanoseconds. */
const LEAST_STEP = 1;
const PX_OF_A_DIGIT = 6.5;
/** More than any screen has room for: a bound, whatever the numbers. */
const MOST_TICKS = 500;

/** Ticks within a window that is `width` CSS pixels wide; text may be `textScale` times as large as usual. */
export function ticksFor(window: TimeSpan, width: number, textScale = 1): Tick[] {
  if (width < 1 || lengthOf(window) <= 0) {
    return [];
  }
  const perPx = lengthOf(window) / width;
  let step = Math.max(LEAST_STEP, roundStep(perPx * FEWEST_PX * textScale));
  const room = (decimalsOf(step) + String(Math.floor(window.end / 1e9)).length + 4) * PX_OF_A_DIGIT * textScale;
  if (step < perPx * room) {
    step = roundStep(perPx * room);
  }
  const decimals = decimalsOf(step);
  const ticks: Tick[] = [];
  for (let index = Math.ceil(window.start / step); index * step <= window.end && ticks.length < MOST_TICKS; index++) {
    ticks.push({ time: index * step, label: `${((index * step) / 1e9).toFixed(decimals)} s` });
  }
  return ticks;
}

/** Decimals of seconds that tell times apart that are so far apart. */
export function decimalsOf(step: number): number {
  return Math.max(0, -Math.floor(Math.log10(step / 1e9) + 1e-9));
}
