// How much of the event is shown, and what each filter and step takes away.

import { computed, effect, signal } from "@preact/signals";
import { ask } from "../session/ask.ts";
import type { Query, RemovedSamples, ShownSamples } from "../session/types.ts";
import { dsos, event, namesGeneration, phase, query, session } from "./app.ts";
import { count } from "./format.ts";
import { labelOfDso } from "./function_words.ts";

/** The session's last answer, with the query that it was asked; the bar shows it until the next one is there. */
export const shown = signal<{ query: Query; answer: ShownSamples } | null>(null);

/** True if the query takes everything as it is. */
export function isUnfiltered({ range, processes, threads, cpus, comms, dsos, steps }: Query): boolean {
  return range === null && [processes, threads, cpus, comms, dsos, steps].every((list) => list.length === 0);
}

/** What the answer to the present query says of a filter or of a step; null while it is under way. */
export function removedBy(what: RemovedSamples["what"]): RemovedSamples | null {
  const said = shown.value;
  return said?.query === query.value ? (said.answer.removed.find((each) => each.what === what) ?? null) : null;
}

/**
 * "no function in tides is called “recur” here", where a step names a function that is on no stack that reached it; null
 * where it found it, and where the step's effect does not tell.
 */
export function notCalled(what: RemovedSamples["what"]): string | null {
  const answer = shown.value?.query === query.value ? shown.value.answer : null;
  const step = typeof what === "number" ? query.value.steps[what] : undefined;
  if (answer === null || step === undefined || !("function" in step) || step.function.name === null) {
    return null;
  }
  // Of another build nothing is known here.
  const { dso } = step.function;
  if (!dsos.value.some(({ path, build_id }) => path === dso.path && build_id === dso.buildId)) {
    return null;
  }
  const place = answer.removed.findIndex((each) => each.what === what);
  const own = answer.removed[place];
  const before = answer.removed.slice(0, place).reduce((left, { samples }) => left - samples, answer.allSamples);
  const isMissed =
    step.kind === "focus" ? own?.samples === before : own?.effect === "none" && (step.kind === "merge" || step.kind === "drop");
  return before > 0 && isMissed ? `no function in ${labelOfDso(dso)} is called “${step.function.name}” here` : null;
}

/** How many filters and steps there are. */
export const filterCount = computed(() => {
  const { range, processes, threads, cpus, comms, dsos, steps } = query.value;
  const lists = [processes, threads, cpus, comms, dsos].filter((list) => list.length > 0);
  return (range === null ? 0 : 1) + lists.length + steps.length;
});

/** "2 filters" */
export const filtersInWords = computed(() => `${count(filterCount.value)} ${filterCount.value === 1 ? "filter" : "filters"}`);

/** Asks whenever the query or the names change. Call once. */
export function followShown(): void {
  effect(() => {
    const asked = query.value;
    const asking = session.value;
    const all = event.value;
    // A function of an address may get a name that is another one's.
    void namesGeneration.value;
    if (asking === null || all === null || phase.value.kind !== "open") {
      shown.value = null;
      return;
    }
    if (isUnfiltered(asked)) {
      const { samples, weight } = all;
      shown.value = { query: asked, answer: { samples, weight, allSamples: samples, allWeight: weight, removed: [] } };
      return;
    }
    return ask(
      ({ signal }) => asking.call("shown", { query: asked }, { signal }),
      (answer) => {
        shown.value = { query: asked, answer };
      },
    );
  });
}
