// When a file was changed, beside when the recording was made: a hint for people, and nothing that could prove a match.

import type { ProfileInfo } from "../session/types.ts";
import type { OpenedProfile } from "../state/app.ts";

const UNITS: readonly [number, string, string][] = [
  [86_400_000, "day", "days"],
  [3_600_000, "h", "h"],
  [60_000, "min", "min"],
  [1000, "s", "s"],
];

/**
 * "modified 41 min after the recording"; where no clock was recorded, beside the recording's own file; by the clock where
 * that is not known either.
 */
export function describeWhen(
  modified: number,
  time: Pick<ProfileInfo["time"], "start" | "end" | "wall_start"> | null,
  recording: Pick<OpenedProfile, "name" | "modified"> | null,
): string {
  const began = Date.parse(time?.wall_start ?? "");
  if (time !== null && !Number.isNaN(began)) {
    return beside(modified, began, began + ((time.end ?? 0) - (time.start ?? 0)) / 1e6, "the recording");
  }
  if (recording === null || recording.modified === null) {
    return `modified ${new Date(modified).toLocaleString()}`;
  }
  // A copy may have a later time than what it is of, so this says no more than what the two files say.
  return beside(modified, recording.modified, recording.modified, `${recording.name} was written`);
}

function beside(modified: number, began: number, ended: number, what: string): string {
  if (modified < began) {
    return `modified ${describeSpan(began - modified)} before ${what}`;
  }
  return modified > ended
    ? `modified ${describeSpan(modified - ended)} after ${what}`
    : `modified ${began === ended ? "when" : "during"} ${what}`;
}

/** The largest unit of which there are two, or the smallest: "41 min", "3 days". */
function describeSpan(milliseconds: number): string {
  const [size, one, many] = UNITS.find(([unit]) => milliseconds >= 2 * unit) ?? [1000, "s", "s"];
  const number = Math.max(1, Math.round(milliseconds / size));
  return `${number} ${number === 1 ? one : many}`;
}
