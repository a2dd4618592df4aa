// Which processes, threads and CPUs the event was sampled on, for menus and names of chips.

import { computed, effect } from "@preact/signals";
import { ask } from "../session/ask.ts";
import type { TaskRows } from "../session/types.ts";
import { ofProfile } from "./of_profile.ts";
import { info, opened, phase, query, session } from "./app.ts";

/** Of the whole event, whatever is filtered; null while it is asked, or where it cannot be told. */
export const eventTasks = ofProfile<TaskRows | null>(null);

/** By pid and by tid. */
export const processNames = computed(() => new Map(eventTasks.value?.processes.map(({ pid, name }) => [pid, name])));
/** Those of some processes that have samples of the event, as far as that is known. */
export function sampledOf(pids: readonly number[]): readonly number[] {
  const known = processNames.value;
  return known.size === 0 ? pids : pids.filter((pid) => known.has(pid));
}
export const threadNames = computed(() => new Map(threads.value.map(({ tid, name }) => [tid, name])));

/** All threads, heaviest first: the order in which the keys go through them. */
export const threads = computed(() =>
  (eventTasks.value?.processes ?? []).flatMap((process) => process.threads).sort((a, b) => b.weight - a.weight),
);

/** Asks once for each event of a profile, and again while more of it is read. Call once. */
export function followEventTasks(): void {
  const event = computed(() => query.value.event);
  const isOpen = computed(() => phase.value.kind === "open");
  // What was known of less of the same profile stays until the answer comes.
  effect(() => {
    void [event.value, session.value, isOpen.value, opened.value];
    eventTasks.value = null;
  });
  const read = computed(() => info.value?.samples);
  effect(() => {
    const asked = event.value;
    const asking = session.value;
    void [read.value, opened.value];
    if (asking === null || !isOpen.value) {
      return;
    }
    return ask(
      ({ signal }) => asking.call("tasks", { event: asked }, { signal }),
      (answer) => {
        eventTasks.value = answer;
      },
    );
  });
}
