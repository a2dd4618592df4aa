// What a failure to open says: what is, then what to do.

import type { SessionFailure } from "../session/types.ts";
import { shellWord } from "../ledger/shell_word.ts";
import type { ViewState } from "../state/url.ts";
import { readFragment, saysView } from "../state/url.ts";
import { isStream } from "./given.ts";

/** "23 20 4e 6f" */
export function hexBytes(values: readonly number[]): string {
  return values.map((value) => value.toString(16).padStart(2, "0")).join(" ");
}

export function describeFailure(name: string, failure: SessionFailure): string {
  switch (failure.kind) {
    case "not-perf-data": {
      if (isStream(name)) {
        return `${name} is one stream of a folder recording. Open the folder, or all of its files together.`;
      }
      const first = failure.firstBytes ?? [];
      const begins = first.length > 0 ? `It begins with ${hexBytes(first.slice(0, 4))}.` : "It is empty.";
      return `${name} is not a perf.data file. ${begins}`;
    }
    case "out-of-memory":
      return outOfMemory(name, null);
    case "unsupported":
      return `${name}: ${failure.message}.`;
    case "cut-off":
    case "not-a-snapshot":
    case "newer-version":
    case "damaged":
      return sentence(failure.message);
    case "invalid":
      // Of a link, which has no offsets, or of a recording.
      return failure.offset === undefined ? sentence(failure.message) : `${name} could not be read: ${failure.message}.`;
    default:
      return `${name} could not be read: ${failure.message}.`;
  }
}

/** Whether it is a link that could not be opened: then no file helps, but the link once more. */
export function isOfLink({ kind, offset }: SessionFailure): boolean {
  const kinds: readonly string[] = ["cut-off", "not-a-snapshot", "newer-version", "damaged"];
  return kinds.includes(kind) || (kind === "invalid" && offset === undefined);
}

/** `held` is how many bytes the session had; null where that is not known. */
export function outOfMemory(name: string, held: number | null): string {
  const at = held === null ? "" : ` at ${(held / 1e9).toFixed(1)} GB`;
  return `This tab ran out of memory${at}. Open it with perftab view ${shellWord(name)}, or summarize it with perftab report.`;
}

/** With a capital and a full stop. */
export function sentence(words: string): string {
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}

/** By name, which is enough for a word. */
const PACKED = /\.(?:gz|xz|zst|bz2|tar|tgz|zip|deb|rpm)$/;

/** Binaries, or archives that may hold some, that were dropped before any profile. */
export function describeWaiting(names: readonly string[]): string {
  const only = names[0];
  if (names.length === 1 && only !== undefined) {
    const what = PACKED.test(only) ? "may contain binaries" : "is a binary";
    return `${only} ${what}. Add a perf.data too; the file is used if its build-id was recorded.`;
  }
  return `${names.length} files are waiting for a profile. Add a perf.data too; each file is used if its build-id was recorded.`;
}

/** A message as one line: mail programs break lines, and put `>` before those that a reply quotes. */
export function inOneLine(text: string): string {
  return text
    .replace(/^[\s>]+/, "")
    .trimEnd()
    .replace(/\r?\n[ \t]*(?:>[ \t]*)*/g, "");
}

/**
 * The payload of a link, wherever in the pasted text it stands; null if there is none. One that is cut off, even behind
 * `#p1`, is a payload too: opening it says so.
 */
export function payloadOf(text: string): string | null {
  const whole = inOneLine(text);
  const [, version, rest = ""] = /#(p\d+)\.?([A-Za-z0-9_-]*)/.exec(whole) ?? /^(p\d+)\.([A-Za-z0-9_-]+)/.exec(whole) ?? [];
  return version === undefined ? null : `${version}.${rest}`;
}

/** How a pasted link says that its profile is looked at; null where it leaves that to what is in it. */
export function viewOf(text: string): ViewState | null {
  const [, view = ""] = /#p\d+\.[A-Za-z0-9_-]*(&\S*)/.exec(inOneLine(text)) ?? [];
  const address = readFragment(`#p1.${view}`);
  return saysView(address) ? address.state : null;
}
