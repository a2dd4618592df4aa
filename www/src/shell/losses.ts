// What was lost or is doubtful, as people read it: by kind, worst first, with the way from what was recorded to what is
// shown.

import type { ProfileInfo, Warning } from "../session/types.ts";
import { bytes, count, countSamples, percent } from "../state/format.ts";

/** The warnings of one kind. */
export interface Losses {
  kind: Warning["kind"];
  title: string;
  /** What to do about it; empty where nothing can be done. */
  remedy: string;
  losses: Warning[];
}

const TITLES: Record<Warning["kind"], string> = {
  unfinished: "The recorder did not finish",
  "part-read": "Not read to its end",
  "parts-missing": "Files are missing",
  truncated: "The file ends early",
  damaged: "Damaged data",
  unpacking: "Decompression failed",
  "bad-section": "Invalid sections",
  unreadable: "Unreadable data",
  unsupported: "Not supported",
  "not-unwound": "Stacks not unwound",
  lost: "Lost while recording",
  text: "Text between the records",
  "out-of-order": "Records out of order",
  "no-time": "Samples without a timestamp",
  "unknown-event": "Samples of an unknown event",
  "build-id-conflict": "Two build-ids for one DSO",
  ambiguous: "Ambiguous build-ids",
  "truncated-stacks": "Truncated stacks",
  "no-frame-pointers": "No frame pointers",
  "stacks-read-later": "Outermost frames read later",
};

const COPY_AGAIN = "Copy the file from the host again.";
const NEWER = "A newer perftab may read them.";
const RECORD_IDS = "Record with perftab record, or perf record --buildid-mmap.";

const REMEDIES: Record<Warning["kind"], string> = {
  unfinished: "Stop the recorder with Ctrl-C and let it finish.",
  "part-read": "Open the file again.",
  "parts-missing": "Add the whole folder.",
  truncated: COPY_AGAIN,
  damaged: COPY_AGAIN,
  unpacking: COPY_AGAIN,
  "bad-section": COPY_AGAIN,
  unreadable: NEWER,
  unsupported: NEWER,
  "not-unwound": "Add the files that ran.",
  lost: "Record at a lower frequency (-F) or with larger buffers (-m).",
  text: "Keep the recorder’s messages out of the file: 2>/dev/null.",
  "out-of-order": "Record with a single version of perf.",
  "no-time": "Record with -T. perftab record always does.",
  "unknown-event": "Record again with a single version of perf.",
  "build-id-conflict": RECORD_IDS,
  ambiguous: RECORD_IDS,
  "no-frame-pointers": "Record with perftab record --call-graph dwarf.",
  "stacks-read-later": "Check a caller there before you rely on it.",
  "truncated-stacks":
    "Raise kernel.perf_event_max_stack with sysctl, or copy more of the stack (--call-graph dwarf,BYTES), and record again.",
};

/** From this share of all samples on, what a loss concerns changes what one concludes. */
const DECISIVE = 0.01;

/** What changes what one concludes from the profile, each in a sentence with its share of the samples. */
export function decisiveLosses(profile: ProfileInfo): string[] {
  return profile.warnings.flatMap(({ kind, samples, message }) => {
    const share = shareOf(profile, samples ?? 0);
    return share < DECISIVE || DAMAGE.includes(kind) ? [] : [withShare(TITLES[kind], message, countSamples(samples ?? 0), share)];
  });
}

/** "10,027 samples (97.2 %)" that end in files without a build-id; null for too few to matter. */
export function unidentifiedWords(profile: ProfileInfo, rows: readonly { leaf_samples: number }[]): string | null {
  const samples = rows.reduce((sum, row) => sum + row.leaf_samples, 0);
  const share = shareOf(profile, samples);
  return share < DECISIVE ? null : `${countSamples(samples)} (${percent(share)})`;
}

/** Of a part of a recording, warnings are those of the whole. */
function shareOf(profile: ProfileInfo, samples: number): number {
  const isPart = profile.events.some(({ part_of }) => part_of != null);
  const recorded = isPart
    ? profile.events.reduce((sum, event) => sum + (event.part_of ?? event).samples, 0)
    : (funnel(profile)[0]?.count ?? 0);
  return recorded === 0 ? 0 : samples / recorded;
}

/** "10,027 samples (97.2 %) have a copy of their user stack…" */
function withShare(title: string, message: string, head: string, share: number): string {
  return message.startsWith(head)
    ? `${head} (${percent(share)})${message.slice(head.length)}`
    : `${title}: ${message} That is ${percent(share)} of all samples.`;
}

/** Kinds in the order of their first warning: the session sends the worst first. */
export function byKind(losses: readonly Warning[]): Losses[] {
  const groups = new Map<Warning["kind"], Losses>();
  for (const loss of losses) {
    const { kind } = loss;
    const group = groups.get(kind) ?? { kind, title: TITLES[kind], remedy: REMEDIES[kind], losses: [] };
    group.losses.push(loss);
    groups.set(kind, group);
  }
  return [...groups.values()];
}

/** "0x3a7f010", with where that is in the file for those who do not read hex; empty where a loss has no one place. */
export function place(offset: number | null): { text: string; title: string } {
  return offset === null
    ? { text: "", title: "" }
    : { text: `0x${offset.toString(16)}`, title: `${bytes(offset)} into the file` };
}

/** What ended the reading early, and what leaves out more than records that were passed over. */
const DAMAGE: readonly string[] = ["part-read", "unfinished", "parts-missing", "truncated", "damaged", "unpacking"];

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
  const samples = shownOf(profile);
  const shown = `${countSamples(samples)} ${samples === 1 ? "is" : "are"} shown.`;
  const why = kind === "truncated" ? "the file is truncated" : NOT_READ.exec(message)?.[1];
  return why === undefined
    ? `Read up to ${bytes(offset)}. ${message} ${shown}`
    : `Read up to ${bytes(offset)}; the rest could not be read (${why} at 0x${offset.toString(16)}). ${shown}`;
}

/** How the session says why nothing could be read behind a place: the reason is the first clause. */
const NOT_READ = /^The rest could not be read: ([^.]+)\. /;

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

/** From what the kernel took to what is shown. */
export function funnel(profile: ProfileInfo): Step[] {
  const { samples } = profile;
  const { count: lost, what } = lostOf(profile);
  const shown = shownOf(profile);
  const known = profile.funnel ?? {
    recorded: samples + (what === "samples" ? lost : 0),
    unreadable: samples - shown,
    truncated: 0,
    shown,
  };
  return [
    { name: "recorded", count: known.recorded },
    { name: what === "samples" ? "lost" : "lost records (any kind)", count: lost },
    { name: "unreadable", count: known.unreadable },
    { name: "truncated stacks", count: known.truncated },
    { name: "shown", count: known.shown },
  ];
}

/** Of the records of samples those that are in an event. One that reads a group of events is in several. */
function shownOf({ samples, events }: ProfileInfo): number {
  return Math.min(
    samples,
    events.reduce((sum, event) => sum + event.samples, 0),
  );
}

/** All of it as lines of text: the funnel, then a line a warning. Kinds are called as in `perftab info --json`. */
export function asText(profile: ProfileInfo): string {
  const steps = funnel(profile)
    .map((step) => `${step.name} ${count(step.count)}`)
    .join(" → ");
  const lines = profile.warnings.map(({ kind, count: times, samples, offset, message }) =>
    [kind, count(samples ?? times), place(offset).text, message, REMEDIES[kind]].join("\t"),
  );
  return [`Samples: ${steps}`, ...lines].join("\n");
}
