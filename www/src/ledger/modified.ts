// When a file was changed, beside when the recording was made: a hint for people, and nothing that could prove a match.

import type { ProfileInfo } from "../session/types.ts";

const UNITS: readonly [number, string, string][] = [
  [86_400_000, "day", "days"],
  [3_600_000, "h", "h"],
  [60_000, "min", "min"],
  [1000, "s", "s"],
];

/** "modified 41 min after the recording"; by the clock where the recording's is not known. */
export function describeWhen(modified: number, time: Pick<ProfileInfo["time"], "start" | "end" | "wall_start"> | null): string {
  const began = Date.parse(time?.wall_start ?? "");
  if (time === null || Number.isNaN(began)) {
    return `modified ${new Date(modified).toLocaleString()}`;
  }
  const ended = began + ((time.end ?? 0) - (time.start ?? 0)) / 1e6;
  if (modified < began) {
    return `modified ${describeSpan(began - modified)} before the recording`;
  }
  return modified > ended ? `modified ${describeSpan(modified - ended)} after the recording` : "modified during the recording";
}

/** The largest unit of which there are two, or the smallest: "41 min", "3 days". */
function describeSpan(milliseconds: number): string {
  const [size, one, many] = UNITS.find(([unit]) => milliseconds >= 2 * unit) ?? [1000, "s", "s"];
  const number = Math.max(1, Math.round(milliseconds / size));
  return `${number} ${number === 1 ? one : many}`;
}
