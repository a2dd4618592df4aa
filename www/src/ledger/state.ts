// What the ledger's parts share: its order, its groups, its coverage.

import { computed, signal } from "@preact/signals";
import type { DsoRow } from "../session/types.ts";
import { coverage, dsos, info } from "../state/app.ts";
import type { LedgerOrder } from "./coverage.ts";
import { coverageParts, ledgerGroups } from "./coverage.ts";

export const order = signal<LedgerOrder>("to-name");
export const ledger = computed(() => ledgerGroups(dsos.value, order.value));
export const parts = computed(() => (coverage.value === null ? [] : coverageParts(coverage.value)));

/** Percent of samples that end in a named frame. */
export const namedPercent = computed(() => parts.value.find((part) => part.status === "named")?.percent ?? 0);

/** "samples", or which where the graph shows those of one event while all are counted. */
export const countedSamples = computed(() => {
  const recorded = info.value?.events.filter(({ samples }) => samples > 0).length ?? 0;
  return recorded > 1 ? "samples of all events" : "samples";
});

/** "8 of 12 named" */
export const namedCount = computed(() => `${ledger.value.named} of ${ledger.value.listed} named`);

/** How long a row's bar is: the longest fills its place. */
export function barShare(row: DsoRow): number {
  return ledger.value.largest > 0 ? row.leaf_share / ledger.value.largest : 0;
}
