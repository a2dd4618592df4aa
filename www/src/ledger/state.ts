// What the ledger's parts share: its order, its groups, its coverage.

import { computed, signal } from "@preact/signals";
import type { Coverage, DsoRow } from "../session/types.ts";
import { coverage, dsos, info } from "../state/app.ts";
import { ofProfile } from "../state/of_profile.ts";
import { count, NARROW, percent } from "../state/format.ts";
import type { CoveragePart, LedgerGroup, LedgerOrder } from "./coverage.ts";
import { coverageParts, keepPlaces, ledgerGroups } from "./coverage.ts";
import { ledgerCoverage, ledgerParts, ledgerRows } from "./filtered.ts";
import { twinsAmong } from "./users.ts";

export const order = signal<LedgerOrder>("to-name");
/** The groups of a profile as they were when the pointer or the focus came among their rows; null without. */
const held = ofProfile<{ order: LedgerOrder; groups: readonly LedgerGroup[] } | null>(null);

/** Of what the ledger counts: the whole profile, or what filters leave of it. */
export const ledger = computed(() => {
  const now = ledgerGroups(ledgerRows.value, order.value, ledgerCoverage.value);
  const before = held.value;
  return before?.order === order.value ? keepPlaces(now, before.groups) : now;
});

/** From now on names that arrive move no row. */
export function holdRows(): void {
  held.value ??= { order: order.peek(), groups: ledger.peek().groups };
}

export function releaseRows(): void {
  held.value = null;
}

export const parts = computed(() => (coverage.value === null ? [] : coverageParts(coverage.value)));

/** Percent of samples that end in a named frame. */
export const namedPercent = computed(() => namedAmong(parts.value));
/** "68.0 % of samples have no name yet."; empty where all have one. */
export const unnamedWords = computed(() => {
  const unnamed = 100 - namedPercent.value;
  return unnamed >= 0.05 ? `${unnamed.toFixed(1)}\u2009% of samples have no name yet.` : "";
});
/** Percent that end in a named frame, of what the ledger counts. */
export const ledgerNamedPercent = computed(() => namedAmong(ledgerParts.value));

/** Percent of samples that end in a named frame. */
export function namedAmong(all: readonly CoveragePart[]): number {
  return all.find((part) => part.status === "named")?.percent ?? 0;
}

/** Both ways to count: by samples, as the meter does, and by frames, as `report --json` does. */
export function coverageTip(of: Coverage | null, percentNamed: number): string {
  const { frames = 0, named = 0 } = of ?? {};
  const byFrames = frames > 0 ? ` ${percent(named / frames)} of all frames are named.` : "";
  return `${percentNamed.toFixed(1)}${NARROW}% of ${countedSamples.value} end in a named frame.${byFrames}`;
}

/** "samples", or which where the graph shows those of one event while all are counted. */
export const countedSamples = computed(() => {
  const recorded = info.value?.events.filter(({ samples }) => samples > 0).length ?? 0;
  return recorded > 1 ? "samples of all events" : "samples";
});

/** "8 of 12 named" */
export const namedCount = computed(() => `${ledger.value.named} of ${ledger.value.listed} named`);

/** "12 more DSOs have no samples.", of those that the ledger does not list. */
export function unusedWords(unused: number): string {
  return unused === 1 ? "1 more DSO has no samples." : `${count(unused)} more DSOs have no samples.`;
}

/** DSOs whose path has another build in this recording. */
export const twins = computed(() => twinsAmong(dsos.value));

/** How long a row's bar is: the longest fills its place. */
export function barShare(row: DsoRow): number {
  return ledger.value.largest > 0 ? row.leaf_share / ledger.value.largest : 0;
}

/** Rows of one DSO differ in what they count. */
export function isAmong(rows: readonly DsoRow[], { id }: DsoRow): boolean {
  return rows.some((row) => row.id === id);
}
