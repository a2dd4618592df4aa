// Times and lengths as the time order says them, with as many digits as their length needs.

import { duration } from "../../state/format.ts";

/** Digits behind the point of seconds that tell times apart which are so many nanoseconds away from each other. */
function digits(apart: number): number {
  return Math.min(9, Math.max(2, Math.ceil(-Math.log10(Math.max(1, apart) / 1e9)) + 1));
}

/** "1.204 s to 1.310 s, 106 ms" */
export function timeSpan({ start, end }: { start: number; end: number }): string {
  const places = digits(end - start);
  const seconds = (time: number): string => `${(time / 1e9).toFixed(places)} s`;
  return `${seconds(start)} to ${seconds(end)}, ${duration({ start, end })}`;
}
