// What a link or a page may tell: the ticks beside it, and the patterns that rename.

import { computed, signal } from "@preact/signals";
import { info } from "../state/app.ts";
import type { Privacy, RenameText, SharedTexts, TextPart } from "../session/types.ts";

/** A part that can be told or not. */
export type PrivacyPart = Exclude<keyof Privacy, "renames">;

interface Tick {
  part: PrivacyPart;
  label: string;
  /** How many of it a link holds, or could hold; null where that cannot be counted. */
  count: (texts: SharedTexts) => number | null;
  /** Whether the profile has any of it; all have what does not say. */
  isThere?: (texts: SharedTexts) => boolean;
}

const countOf =
  (part: TextPart) =>
  (texts: SharedTexts): number =>
    textsOf(texts, part).length;

/** What is read only for a link that tells it. */
function countIfIncluded(part: "source" | "assembly"): Tick["count"] {
  return (texts) => (isIncluded(part) ? countOf(part)(texts) : null);
}

/** Files may have what a link did not bring. */
function isRecording(): boolean {
  return info.value?.fidelity == null;
}

export const TICKS: readonly Tick[] = [
  { part: "ownFunctions", label: "Function names in own code", count: countOf("own-function") },
  { part: "systemFunctions", label: "Function names in system and kernel", count: countOf("system-function") },
  { part: "dsos", label: "DSO names, without folders", count: countOf("dso") },
  { part: "folders", label: "Folders of DSOs and sources", count: (texts) => texts.profile.folders },
  { part: "files", label: "Source files and lines", count: countOf("file") },
  { part: "buildIds", label: "Build-ids", count: (texts) => texts.profile.identities },
  { part: "addresses", label: "Code addresses", count: () => null },
  {
    part: "source",
    label: "Text of hot source lines",
    count: countIfIncluded("source"),
    isThere: (texts) => isRecording() || texts.profile.lines > 0,
  },
  {
    part: "assembly",
    label: "Text of hot instructions",
    count: countIfIncluded("assembly"),
    isThere: (texts) => isRecording() || texts.profile.instructions > 0,
  },
  { part: "processes", label: "Process and thread names", count: countOf("process") },
  { part: "commandLine", label: "Command line of the recording", count: (texts) => Math.min(texts.profile.arguments, 1) },
  { part: "host", label: "Host name and kernel version", count: (texts) => texts.profile.host },
  { part: "clock", label: "Date and time of the recording", count: () => null },
  { part: "warnings", label: "Warning messages", count: countOf("warning") },
];

/** The parts of a list of texts, as they are called above it. */
export const PART_NAMES: Readonly<Record<TextPart, string>> = {
  process: "Processes and threads",
  "system-function": "Functions in system and kernel",
  "own-function": "Functions in own code",
  dso: "DSOs",
  file: "Source files",
  source: "Source lines",
  assembly: "Instructions",
  event: "Events",
  note: "Notes on DSOs",
  warning: "Warnings",
  host: "Host",
  "command-line": "Command line",
  view: "This view",
  title: "Title",
  recorder: "Recorder",
};

/** What is told unless it is unticked: what a profile needs, and nothing of the machine. */
const LEFT_OUT_AT_FIRST: readonly PrivacyPart[] = ["folders", "commandLine", "host", "source", "assembly"];

/** The ticks that were changed from what they are at first. */
const changed = signal<ReadonlySet<PrivacyPart>>(new Set());

export function isIncluded(part: PrivacyPart): boolean {
  return changed.value.has(part) === LEFT_OUT_AT_FIRST.includes(part);
}

export function setIncluded(part: PrivacyPart, isToBe: boolean): void {
  if (isIncluded(part) !== isToBe) {
    const next = new Set(changed.value);
    if (!next.delete(part)) {
      next.add(part);
    }
    changed.value = next;
  }
}

/** As they are written; the last one is empty. */
export const renames = signal<readonly RenameText[]>([{ pattern: "", text: "" }]);

export function rename(index: number, to: RenameText): void {
  const next = renames.value.map((each, at) => (at === index ? to : each));
  const written = next.filter(({ pattern, text }, at) => pattern !== "" || text !== "" || at === index);
  const last = written.at(-1);
  renames.value = last === undefined || last.pattern !== "" ? [...written, { pattern: "", text: "" }] : written;
}

/** What the session is asked for. */
export const privacy = computed<Privacy>(() => ({
  ...Object.fromEntries(TICKS.map(({ part }) => [part, isIncluded(part) ? "included" : "left-out"])),
  renames: renames.value.filter(({ pattern }) => pattern !== ""),
}));

export function textsOf(texts: SharedTexts, part: TextPart): readonly string[] {
  return texts.parts.find((each) => each.part === part)?.texts ?? [];
}

/** A line of the list of all texts. */
export type TextLine = { kind: "part"; name: string; count: number } | { kind: "text"; text: string; was: string | null };

/** Every text under the name of its part. */
export function linesOf(texts: SharedTexts): TextLine[] {
  return texts.parts.flatMap(({ part, texts: each, renamed }) => {
    const was = new Map(renamed.map(({ index, was }) => [index, was]));
    const lines = each.map((text, index): TextLine => ({ kind: "text", text, was: was.get(index) ?? null }));
    return [{ kind: "part", name: PART_NAMES[part], count: each.length }, ...lines];
  });
}

/** Characters of all texts. */
export function charactersOf(texts: SharedTexts): number {
  return texts.parts.reduce((sum, part) => part.texts.reduce((all, text) => all + text.length, sum), 0);
}

/** What is ticked and there is nothing of: what brings it; null if there is some of all. */
export function whatLacks(texts: SharedTexts): string | null {
  const lacks = (part: "source" | "assembly"): boolean => isIncluded(part) && textsOf(texts, part).length === 0;
  if (lacks("source")) {
    return "No source text is at hand for this: Source says what to drop. Function names and source files have to be ticked, too.";
  }
  return lacks("assembly")
    ? "No instructions are at hand: drop the binaries. Function names and addresses have to be ticked, too."
    : null;
}

/** Texts that are called otherwise. */
export function renamedIn(texts: SharedTexts): number {
  return texts.parts.reduce((sum, part) => sum + part.renamed.length, 0);
}
