// How high the table of changes is below the graph, as the user left it.

import { signal } from "@preact/signals";
import { recallNumber, remember } from "../state/storage.ts";

export const CHANGES = { usual: 296, least: 120, most: 2000, mostShare: 0.6 } as const;

export const changesHeight = signal(recallNumber("changes", CHANGES.least, CHANGES.most, CHANGES.usual));

/** 0 resets. */
export function setChangesHeight(next: number): void {
  const most = Math.max(CHANGES.least, Math.floor(innerHeight * CHANGES.mostShare));
  changesHeight.value = next === 0 ? CHANGES.usual : Math.min(most, Math.max(CHANGES.least, next));
  remember("changes", String(changesHeight.value));
}
