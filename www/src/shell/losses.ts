// What was lost or is doubtful, as people read it: by kind, worst first, with the way from what was recorded to what is
// shown.

import type { ProfileInfo, Warning } from "../session/types.ts";
import { bytes, count } from "../state/format.ts";

/** The warnings of one kind. */
export interface Losses {
  kind: Warning["kind"];
  title: string;
  warnings: Warning[];
}

const TITLES: Record<Warning["kind"], string> = {
  unfinished: "The recorder did not finish",
  "parts-missing": "Files are absent",
  truncated: "The file ends early",
  damaged: "The rest is damaged",
  unpacking: "Could not be unpacked",
  "bad-section": "Sections out of place",
  unreadable: "Could not be read",
  unsupported: "Passed over",
  lost: "Lost while recording",
  text: "Text among the records",
  "out-of-order": "Out of order",
  "no-time": "Samples without a time",
  "unknown-event": "Samples without an event",
  "build-id-conflict": "Two build-ids for one DSO",
  ambiguous: "DSOs without an identity",
};

/** Kinds in the order of their first warning: the session sends the worst first. */
export function byKind(warnings: readonly Warning[]): Losses[] {
  const groups = new Map<Warning["kind"], Losses>();
  for (const warning of warnings) {
    const { kind } = warning;
    const group = groups.get(kind) ?? { kind, title: TITLES[kind], warnings: [] };
    group.warnings.push(warning);
    groups.set(kind, group);
  }
  return [...groups.values()];
}

/** "0x3a7f010", with where that is in the file for those who do not read hex; empty where a loss has no one place. */
export function place(offset: number | null): { text: string; title: string } {
  return offset === null
    ? { text: "", title: "" }
    : { text: `0x${offset.toString(16)}`, title: `At ${bytes(offset)} of the file` };
}

/** What ended the reading early, and what leaves out more than records that were passed over. */
const DAMAGE: readonly string[] = ["unfinished", "parts-missing", "truncated", "damaged", "unpacking"];

/** What must not be missed: what part of the recording is shown, and why not all; null where nothing ended it early. */
export function describeDamage(profile: ProfileInfo): string | null {
  const damage = profile.warnings.find(({ kind }) => DAMAGE.includes(kind));
  if (damage === undefined) {
    return null;
  }
  const { kind, offset, message } = damage;
  // These stand at no place where the reading ended.
  if (kind === "unfinished" || offset === null) {
    return message;
  }
  return `${count(shownOf(profile))} samples were read, up to ${bytes(offset)} of the file. ${message}`;
}

export interface Step {
  name: string;
  count: number;
}

/** What the recorder lost. Kernels before 6.0 do not count samples apart, but all records that found no room. */
export function lostOf({ lost }: ProfileInfo): { count: number; what: "samples" | "records" } {
  return lost.samples > 0 || lost.events === 0
    ? { count: lost.samples, what: "samples" }
    : { count: lost.events, what: "records" };
}

/** From what was met to what is shown. */
export function funnel(profile: ProfileInfo): Step[] {
  const { samples } = profile;
  const { count: lost, what } = lostOf(profile);
  const shown = shownOf(profile);
  return [
    { name: "recorded", count: samples + (what === "samples" ? lost : 0) },
    { name: what === "samples" ? "lost" : "lost records of any kind", count: lost },
    { name: "unreadable", count: samples - shown },
    { name: "shown", count: shown },
  ];
}

/** Of the records of samples those that are in an event. One that reads a group of events is in several. */
function shownOf({ samples, events }: ProfileInfo): number {
  return Math.min(samples, events.reduce((sum, event) => sum + event.samples, 0));
}

/** All of it as lines of text: the funnel, then a line a warning. Kinds are called as in `perftab info --json`. */
export function asText(profile: ProfileInfo): string {
  const steps = funnel(profile).map((step) => `${step.name} ${count(step.count)}`).join(" → ");
  const lines = profile.warnings.map((warning) =>
    [warning.kind, count(warning.count), place(warning.offset).text, warning.message].join("\t"));
  return [`Samples: ${steps}`, ...lines].join("\n");
}
