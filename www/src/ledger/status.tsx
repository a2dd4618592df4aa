// The seven statuses: glyph, word and colour together, never colour alone.

import type { JSX } from "preact";
import type { DsoRow, DsoStatus } from "../session/types.ts";
import { shortId } from "../state/format.ts";
import type { IconName } from "../shell/icons.tsx";
import { Icon } from "../shell/icons.tsx";

export type Tone = "ok" | "warn" | "bad" | "mute" | "guru";

interface StatusAppearance {
  word: string;
  glyph: IconName;
  tone: Tone;
}

export const STATUS: Record<DsoStatus, StatusAppearance> = {
  matched: { word: "Matched", glyph: "tick", tone: "ok" },
  embedded: { word: "Embedded", glyph: "diamond", tone: "ok" },
  missing: { word: "Missing", glyph: "ring", tone: "warn" },
  "no-symbols": { word: "No symbols", glyph: "half", tone: "warn" },
  mismatched: { word: "Mismatched", glyph: "unequal", tone: "bad" },
  "no-identity": { word: "No identity", glyph: "dash", tone: "mute" },
  forced: { word: "Forced", glyph: "triangle", tone: "guru" },
  "self-named": { word: "Self-named", glyph: "diamond", tone: "ok" },
};

export function StatusGlyph({ status, size = 14 }: { status: DsoStatus; size?: number }): JSX.Element {
  const { glyph, tone } = STATUS[status];
  return (
    <span class={`status-glyph ink-${tone}`}>
      <Icon name={glyph} size={size} />
    </span>
  );
}

/** What to know, and do, about a DSO, as one line. */
export function statusDetail(row: DsoRow): string | null {
  switch (row.status) {
    case "matched":
      return row.gives;
    case "embedded":
      return "Symbols recorded with the profile";
    case "self-named":
      return capital(row.reason ?? "named by its own process");
    case "no-symbols":
      // Where there were some that could not be read, the reason says more.
      return row.reason !== null
        ? capital(row.reason)
        : `${row.image?.split("/").at(-1) ?? row.name} has no symbols. Add its .debug file`;
    case "missing":
      return whatToAdd(row);
    case "mismatched":
      return `You added build ${startOf(row.found ?? "")}; the profile has ${startOf(row.build_id ?? "")}`;
    case "no-identity":
      return capital((row.reason ?? "recorded without a build-id").replace(/^it was recorded/, "recorded"));
    case "forced":
      return row.found === null
        ? `Unsafe: from ${row.image ?? "a file"}, which has no build-id`
        : `Unsafe: from build ${startOf(row.found)}`;
  }
}

/** The same where there is room: with the file that gives the names. */
export function longDetail(row: DsoRow): string | null {
  const detail = statusDetail(row);
  const image = row.image?.split("/").at(-1) ?? "";
  return row.status === "matched" && detail !== null && image !== "" ? `${image}, ${detail}` : detail;
}

/** "9f31c07a…": enough to tell two ids apart in a line. */
function startOf(id: string): string {
  return id.length > 8 ? `${id.slice(0, 8)}…` : id;
}

/** Where the names of a forced DSO come from, beside what was recorded. */
export function takenFrom({ found, build_id }: DsoRow): string {
  const from = found === null ? "taken from a file without a build-id" : `taken from build ${shortId(found)}`;
  return build_id === null ? from : `${from}; the profile has ${shortId(build_id)}`;
}

function whatToAdd(row: DsoRow): string {
  switch (row.kind) {
    case "kernel":
      return "Add the vmlinux of this kernel";
    case "module":
      return `Add ${row.name.replace(/^\[|\]$/g, "")}.ko or its .debug file`;
    case "vdso":
      return "Add the vdso.so of this kernel";
    default:
      return `Add ${row.name} or its .debug file`;
  }
}

function capital(sentence: string): string {
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}

/** The recorded build-id, short, or what stands in its place. */
export function idText(row: DsoRow): string {
  if (row.build_id !== null) {
    return shortId(row.build_id);
  }
  return row.identity === "content" ? "content hash" : "none";
}
