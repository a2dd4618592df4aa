// Threads by key: in the time order the one that is shown, elsewhere those that are counted.

import { query, shownThread, view } from "../state/app.ts";
import { threads } from "../state/event_tasks.ts";
import { toast } from "../state/toasts.ts";
import { setThreads } from "../views/query_steps.ts";

/** Goes through the threads of the event, heaviest first, around the ends. */
export function stepThread(by: 1 | -1): void {
  const tids = threads.peek().map(({ tid }) => tid);
  if (tids.length === 0) {
    return toast("info", "This recording has no thread IDs.");
  }
  const isTimeOrder = view.peek() === "time-order";
  const [only, ...others] = query.peek().threads;
  const present = isTimeOrder ? (shownThread.peek() ?? tids[0]) : others.length === 0 ? only : undefined;
  const at = present === undefined ? (by === 1 ? -1 : 0) : tids.indexOf(present);
  const next = tids[(at + by + tids.length) % tids.length];
  if (next === undefined) {
    return;
  }
  if (isTimeOrder) {
    shownThread.value = next;
  } else {
    setThreads([next]);
  }
}

/** Where threads are chosen: the time order's list, or the menu of processes. */
export function chooseThreads(): void {
  const chooser = document.querySelector<HTMLElement>(".thread-chooser select");
  if (chooser !== null) {
    chooser.focus();
  } else {
    document.querySelector<HTMLElement>(".tasks-button")?.click();
  }
}
