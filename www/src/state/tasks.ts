// Work that takes a while: what the bar under the top bar and the status bar show, and what Cancel stops.

import { computed } from "@preact/signals";
import type { CallOptions } from "../session/client.ts";
import type { Progress } from "../session/types.ts";
import type { Task } from "./app.ts";
import { tasks } from "./app.ts";
import { bytesOf, count } from "./format.ts";

/** Of several the one that began first: a Cancel that is about to be pressed must not become that of another. */
export const shownTask = computed<Task | undefined>(() => tasks.value[0]);

let lastId = 0;

/**
 * Runs `work` as a task that the status bar names and Cancel aborts, as does who has `abort`. Pass the options on to the
 * session's call.
 */
export async function runTask<T>(
  label: string,
  work: (options: Required<CallOptions>) => Promise<T>,
  abort: AbortController = new AbortController(),
): Promise<T> {
  const id = ++lastId;
  const change = (to: Partial<Task>): void => {
    tasks.value = tasks.value.map((task) => (task.id === id ? { ...task, ...to } : task));
  };
  // The step that is under way comes to its end first: of large recordings that may take a second.
  const cancel = (): void => {
    abort.abort();
    change({ label: "Cancelling", progress: null, cancel: null });
  };
  tasks.value = [...tasks.value, { id, label, began: performance.now(), progress: null, cancel }];
  const onProgress = (progress: Progress): void => {
    if (!abort.signal.aborted) {
      change({ progress });
    }
  };
  try {
    return await work({ signal: abort.signal, onProgress });
  } finally {
    tasks.value = tasks.value.filter((task) => task.id !== id);
  }
}

/** "Reading 61.0 of 182.0 MB", "Naming 412 of 1,204 frames", or the task's own label before it reports. */
export function describeProgress(label: string, progress: Progress | null): string {
  if (progress === null) {
    return label;
  }
  const { stage, done, total } = progress;
  switch (stage) {
    case "reading":
      return `Reading ${bytesOf(done, total)}`;
    case "unwinding":
      return `Unwinding ${bytesOf(done, total)}`;
    case "offering":
      return `${label}, ${bytesOf(done, total)}`;
    case "naming":
      return total === undefined ? "Naming" : `Naming ${count(done)} of ${count(total)} frames`;
    case "counting":
    case "fetching":
    case "writing":
      return label;
  }
}

/** Before this much time and this much work, a guess would only jump about. */
const GUESS_AFTER_MS = 5_000;
const GUESS_AFTER_SHARE = 0.05;

/** ", 12 s left", for what takes long. */
export function timeLeft({ began, progress }: Task, now: number): string {
  const share = progressShare(progress);
  const spent = now - began;
  if (share === null || share < GUESS_AFTER_SHARE || spent < GUESS_AFTER_MS) {
    return "";
  }
  return `, ${Math.max(1, Math.round((spent * (1 - share)) / share / 1000))} s left`;
}

/** The share that is done, null where it is unknown. */
export function progressShare(progress: Progress | null): number | null {
  if (progress === null || progress.total === undefined || progress.total <= 0) {
    return null;
  }
  return Math.min(1, progress.done / progress.total);
}
