// Which processes, threads and CPUs the event was sampled on, for menus and names of chips.

import { computed, effect, signal } from "@preact/signals";
import type { CallOptions } from "../session/client.ts";
import { phase, query, session } from "./app.ts";

export interface EventThread {
  tid: number;
  name: string;
  samples: number;
  weight: number;
}

export interface EventProcess {
  pid: number;
  name: string;
  samples: number;
  weight: number;
  threads: EventThread[];
}

export interface EventTasks {
  /** Heaviest first; so are the threads of each. */
  processes: EventProcess[];
  cpus: { cpu: number; samples: number }[];
}

/** Of the whole event, whatever is filtered; null while it is asked, or where it cannot be told. */
export const eventTasks = signal<EventTasks | null>(null);

/** By pid and by tid. */
export const processNames = computed(() => new Map(eventTasks.value?.processes.map(({ pid, name }) => [pid, name])));
export const threadNames = computed(() => new Map(threads.value.map(({ tid, name }) => [tid, name])));

/** All threads, heaviest first: the order in which the keys go through them. */
export const threads = computed(() =>
  (eventTasks.value?.processes ?? []).flatMap((process) => process.threads).sort((a, b) => b.weight - a.weight));

/** Asks once for each event of a profile. Call once. */
export function followEventTasks(): void {
  let pending: AbortController | null = null;
  const event = computed(() => query.value.event);
  effect(() => {
    const asked = event.value;
    const asking = session.value;
    pending?.abort();
    eventTasks.value = null;
    if (asking === null || phase.value.kind !== "open") {
      return;
    }
    const abort = new AbortController();
    pending = abort;
    // The session's protocol has no such method yet; one that has not refuses it.
    const call = asking.call.bind(asking) as unknown as (method: "tasks", args: { event: number }, options: CallOptions) => Promise<EventTasks>;
    call("tasks", { event: asked }, { signal: abort.signal })
      .then((answer) => {
        eventTasks.value = answer;
      })
      .catch(() => {
        // Cancelled, or the worker died and says so itself.
      });
  });
}
