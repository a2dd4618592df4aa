// Weights of two sides and their difference as words: "2.7 %" and "5.9 %" make "+3.2".

import type { ChangeDetail, DsoPairRow, Presence, Relation, ComparedSide } from "../session/types.ts";
import { percent, weight } from "../state/format.ts";
import type { ComparisonState } from "../state/url.ts";

type Basis = ComparisonState["basis"];

const MINUS = "\u2212";

/** What one side has: "7.8 %", "19.3 G cycles/s"; "none" where it has nothing. */
export function amount(value: number, basis: Basis, event: string): string {
  if (value === 0) {
    return "none";
  }
  return basis === "share" ? percent(value / 100) : `${weight(value, event)}${basis === "per-second" ? "/s" : ""}`;
}

/** "+3.2" points, "−120 M cycles"; "0.0" where nothing that would be seen changed. */
export function difference(change: number, basis: Basis, event: string): string {
  const size = Math.abs(change);
  if (basis === "share" ? size < 0.05 : size === 0) {
    return basis === "share" ? "0.0" : "0";
  }
  const words = basis === "share" ? size.toFixed(1) : amount(size, basis, event);
  return `${change < 0 ? MINUS : "+"}${words}`;
}

/** The same, as it is spoken. */
export function spoken(text: string): string {
  return text
    .replace(/\u202f/g, " ")
    .replace("< ", "less than ")
    .replace("<", "less than ")
    .replace(" %", " percent")
    .replace(MINUS, "minus ")
    .replace("+", "plus ");
}

/** "before 2.7 percent, after 5.9 percent" */
export function spokenSides({ before, after }: Pick<ChangeDetail, "before" | "after">, basis: Basis, event: string): string {
  return `before ${spoken(amount(before, basis, event))}, after ${spoken(amount(after, basis, event))}`;
}

export const PRESENCE_WORDS: Record<Presence, string> = { both: "", "only-after": "only after", "only-before": "only before" };
/** By the numbers of the columns. */
export const PRESENCES: readonly Presence[] = ["both", "only-after", "only-before"];

export const RELATION_WORDS: Record<Relation, { words: string; tone: "ok" | "warn" | "mute" }> = {
  "same-build": { words: "same build", tone: "ok" },
  "two-builds": { words: "different builds", tone: "warn" },
  unidentified: { words: "no build-id", tone: "mute" },
  "only-before": { words: "only before", tone: "mute" },
  "only-after": { words: "only after", tone: "mute" },
};

export const SIDE_WORDS: Record<ComparedSide, string> = { before: "Before", after: "After" };
export const NOT_COMPARABLE = "not comparable yet";
/** Stands for a change that is not known. */
export const UNKNOWN = "\u2013";

/** How the code of a pair is compared. */
export function howCompared({ relation, matched_by, named, without_names, name }: DsoPairRow): string {
  if (without_names !== null) {
    return `${NOT_COMPARABLE}: ${SIDE_WORDS[without_names]} lacks names for ${name}`;
  }
  switch (relation) {
    case "only-before":
      return "no samples after";
    case "only-after":
      return "no samples before";
    case "same-build":
      if (matched_by === "name") {
        return "compared by function name: its load address was not recorded";
      }
      return named ? "compared by address" : "unnamed, compared by address";
    case "two-builds":
      return named ? "compared by function name" : "unnamed, compared as a whole";
    case "unidentified":
      return named ? "possibly different builds, compared by function name" : "possibly different builds, compared as a whole";
  }
}

/** Where the steps of a change begin, as the ends of the legend say it. */
export function legendEnds(basis: Basis): [string, string] {
  return basis === "share" ? [`${MINUS}2 points or less`, "+2 or more"] : ["half or less", "twice or more"];
}
