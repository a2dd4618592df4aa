// What a view says when there is nothing, or only one level, to show.

import { ALL } from "../session/types.ts";
import { events, info, query } from "../state/app.ts";
import { count } from "../state/format.ts";
import type { Laid } from "./flame/stage.ts";

export interface EmptyWords {
  text: string;
  /** Index of an event that has samples. */
  event: { index: number; name: string } | null;
}

/** "This file has 0 samples of cycles. It has 1,204 of page-faults.", where the shown event has none. */
export function noSamples(): EmptyWords | null {
  const shown = events.value[query.value.event];
  if (!shown || shown.samples > 0) {
    return null;
  }
  const recorded = info.value?.events ?? [];
  const index = recorded.reduce((best, each, i) => (each.samples > (recorded[best]?.samples ?? 0) ? i : best), 0);
  const other = recorded[index];
  const none = `This file has 0 samples of ${shown.name}.`;
  if (!other || other.samples === 0) {
    return { text: none, event: null };
  }
  return { text: `${none} It has ${count(other.samples)} of ${other.name}.`, event: { index, name: other.name } };
}

/** What the flame graph says above itself; null where it speaks for itself. */
export function emptyWords(laid: Laid | null, failure: string | null): EmptyWords | null {
  if (failure !== null) {
    return { text: failure, event: null };
  }
  if (!laid) {
    return null;
  }
  if (laid.graph.allTotal === 0) {
    return noSamples() ?? { text: "There is nothing to show.", event: null };
  }
  // The root, its processes or threads, and one frame each.
  const oneLevel = query.value.group === "none" ? 2 : 3;
  if (laid.root === ALL && laid.graph.depths <= oneLevel && laid.graph.depths > 1) {
    return { text: "Recorded without call chains: one level. Record with -g.", event: null };
  }
  return null;
}
