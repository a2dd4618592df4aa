// The ledger of what is shown: where filters act, or steps that take samples away, how much of the rest has names, and
// which DSOs it is in. Asked for when these or the names change, never while a range is dragged.

import { computed, signal } from "@preact/signals";
import { answerTo } from "../session/ask.ts";
import type { DsoRow, FilteredCoverage, Query } from "../session/types.ts";
import { coverage, dsos, info, namesGeneration, query, session } from "../state/app.ts";
import { hasSingleSamples } from "../timeline/state.ts";
import { dropsSamples } from "../state/steps.ts";
import { coverageParts } from "./coverage.ts";

/** What the ledger counts where filters act. */
export const scope = signal<"shown" | "whole">("shown");

/** Without single samples, what a filter would leave of a link's DSOs is not known. */
export const isFiltered = computed(() => info.value !== null && hasSingleSamples.value && hasFilters(query.value));

/** What matters of the query, as text, so that nothing is asked again while that stays as it is. */
const filters = computed(() => {
  const { range, processes, threads, cpus, comms, dsos, steps, inlines, unnamed } = query.value;
  const dropping = dropsSamples(query.value) ? { steps, inlines, unnamed } : {};
  return isFiltered.value ? JSON.stringify({ range, processes, threads, cpus, comms, dsos, ...dropping }) : null;
});

/** What the session says of the filters that act; null where none does, and before the first answer. */
const filtered = answerTo<FilteredCoverage>(() => {
  void namesGeneration.value;
  const asking = session.peek();
  return filters.value === null || asking === null
    ? null
    : ({ signal }) => asking.call("filteredCoverage", { query: query.peek() }, { signal });
});

/** True where the ledger counts less than the whole profile. */
export const isPart = computed(() => isFiltered.value && scope.value === "shown" && filtered.value !== null);

function hasFilters(asked: Query): boolean {
  const { range, processes, threads, cpus, comms, dsos } = asked;
  return range !== null || dropsSamples(asked) || [processes, threads, cpus, comms, dsos].some((list) => list.length > 0);
}

/** "shown range", or what else it is that the ledger counts. */
export const partWords = computed(() => {
  const { processes, threads, cpus, comms, dsos } = query.value;
  const others = dropsSamples(query.value) || [processes, threads, cpus, comms, dsos].some((list) => list.length > 0);
  return others ? "shown samples" : "shown range";
});

/** The coverage and the rows that the ledger shows. */
export const ledgerCoverage = computed(() => (isPart.value ? (filtered.value?.coverage ?? null) : coverage.value));

export const ledgerParts = computed(() => (ledgerCoverage.value === null ? [] : coverageParts(ledgerCoverage.value)));

/** Rows with the samples of what is shown; the rest of each stays as it is. */
export const ledgerRows = computed<readonly DsoRow[]>(() => {
  const part = filtered.value;
  if (!isPart.value || part === null) {
    return dsos.value;
  }
  const all = Math.max(1, part.coverage.samples);
  const shares = new Map(part.dsos.map((share) => [share.dso, share]));
  return dsos.value.map((row) => {
    const { leafSamples = 0, samples = 0, unnamedLeafSamples = 0 } = shares.get(row.id) ?? {};
    const sampled = samples > 0;
    const counted = { leaf_samples: leafSamples, samples, sampled, unnamed_leaf_samples: unnamedLeafSamples };
    return { ...row, ...counted, leaf_share: leafSamples / all, share: samples / all };
  });
});
