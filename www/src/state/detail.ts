// What is known of the selected call node: asked once for all that say something of it.

import { computed, effect, signal } from "@preact/signals";
import type { CallNodeAround } from "../session/types.ts";
import { namesGeneration, query, selection, session, view } from "./app.ts";

/** Callers and callees beyond these are not spoken. */
export const MOST_SPOKEN = 80;

export const selectedCallNode = computed(() => selection.value?.callNode ?? null);

/**
 * What the session says of the selected call node and of what is around it; null while none is selected. Until the answer to
 * another one is there it is the former one.
 */
export const selectedCall = signal<CallNodeAround | null>(null);

export const detail = computed(() => selectedCall.value?.detail ?? null);

/** The row that is selected where its table is on the screen: elsewhere its heaviest call is what is shown as selected. */
export const selectedRow = computed(() => (view.value === "functions" ? selection.value?.row : undefined));

/** Asks whenever the selection, the query or the names change. Call once. */
export function followSelection(): void {
  let pending: AbortController | null = null;
  effect(() => {
    const callNode = selectedCallNode.value;
    const asked = query.value;
    void namesGeneration.value;
    pending?.abort();
    if (callNode === null || session.value === null) {
      selectedCall.value = null;
      return;
    }
    const abort = new AbortController();
    pending = abort;
    session.value
      .call("callNode", { query: asked, callNode, most: MOST_SPOKEN }, { signal: abort.signal })
      .then((answer) => {
        selectedCall.value = answer;
      })
      .catch(() => {
        if (!abort.signal.aborted) {
          selectedCall.value = null;
        }
      });
  });
}
