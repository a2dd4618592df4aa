// What a view says when there is nothing, or only one level, to show.

import { unnamedWords } from "../ledger/state.ts";
import { ALL } from "../session/types.ts";
import { chipsOf } from "../shell/chips.ts";
import { draggedRange, events, info, query } from "../state/app.ts";
import { count } from "../state/format.ts";
import { notCalled, shown } from "../state/shown.ts";
import { noSamplesIn } from "../timeline/words.ts";
import type { LaidOutGraph } from "./flame/stage.ts";
import { clearFilters, setRange } from "./query_steps.ts";

export interface EmptyWords {
  text: string;
  /** Index of an event that has samples. */
  event: { index: number; name: string } | null;
  /** What leads on from here. */
  actions?: readonly { label: string; run: () => void }[];
}

/** "This file has 0 samples of cycles. It has 1,204 of page-faults.", where the shown event has none. */
export function noSamples(): EmptyWords | null {
  const asked = events.value[query.value.event];
  if (!asked || asked.samples > 0) {
    return filteredAway();
  }
  const recorded = info.value?.events ?? [];
  const index = recorded.reduce((best, each, i) => (each.samples > (recorded[best]?.samples ?? 0) ? i : best), 0);
  const other = recorded[index];
  const none = `This file has 0 samples of ${asked.name}.`;
  if (!other || other.samples === 0) {
    return { text: none, event: null };
  }
  return { text: `${none} It has ${count(other.samples)} of ${other.name}.`, event: { index, name: other.name } };
}

/** "Nothing is left after 3 filters.", or of which function there is none, where that is so; null until the session has counted. */
function filteredAway(): EmptyWords | null {
  const counted = shown.value;
  if (counted?.query !== query.value || counted.answer.samples > 0) {
    return null;
  }
  const filters = chipsOf(query.value);
  const { range } = query.value;
  if (filters.length === 1 && range !== null && range.side === "inside") {
    const all = { label: "Clear the range", run: () => setRange(null) };
    return { text: noSamplesIn(range), event: null, actions: [all] };
  }
  return {
    text: focusedOnNothing() ?? `Nothing is left after ${count(filters.length)} ${filters.length === 1 ? "filter" : "filters"}.`,
    event: null,
    actions: [
      { label: "Remove the last", run: () => filters.at(-1)?.remove() },
      { label: "Clear all", run: clearFilters },
    ],
  };
}

/** What was focused on may get its name later. */
function focusedOnNothing(): string | null {
  const missed = query.value.steps.map(({ kind }, index) => (kind === "focus" ? notCalled(index) : null));
  const why = missed.find((words) => words !== null);
  return why === undefined ? null : `N${why.slice(1)}. ${unnamedWords.value}`.trimEnd();
}

/** While a range is dragged over a gap, and before the session has counted. */
function nothingYet(): string {
  const dragged = draggedRange.value;
  return dragged === null ? "Nothing to show." : noSamplesIn(dragged);
}

/** What the flame graph says above itself; null where it speaks for itself. */
export function emptyWords(laid: LaidOutGraph | null, failure: string | null): EmptyWords | null {
  if (failure !== null) {
    return { text: failure, event: null };
  }
  if (!laid) {
    return null;
  }
  if (laid.graph.allTotal === 0) {
    return noSamples() ?? filteredAway() ?? { text: nothingYet(), event: null };
  }
  // Chains that were asked for may all have been empty. What is inlined has levels of its own.
  if (laid.root === ALL && events.value[query.value.event]?.call_chains === false) {
    return { text: "Recorded without call chains. Record with -g to get stacks.", event: null };
  }
  return null;
}
