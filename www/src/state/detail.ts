// What is known of the selected call node.

import { computed, effect, signal } from "@preact/signals";
import type { CallNodeDetail } from "../session/types.ts";
import { namesGeneration, query, selection, session, view } from "./app.ts";

/** What the session says of the selected call node; null while none is, or while it is being asked. */
export const detail = signal<CallNodeDetail | null>(null);

/** The row that is selected where its table is on the screen: elsewhere its heaviest call is what is shown as selected. */
export const selectedRow = computed(() => (view.value === "functions" ? selection.value?.row : undefined));

/** Asks whenever the selection, the query or the names change. Call once. */
export function followSelection(): void {
  let pending: AbortController | null = null;
  effect(() => {
    const callNode = selection.value?.callNode ?? null;
    const asked = query.value;
    void namesGeneration.value;
    pending?.abort();
    if (callNode === null || session.value === null) {
      detail.value = null;
      return;
    }
    const abort = new AbortController();
    pending = abort;
    session.value
      .call("callNodeDetail", { query: asked, callNode }, { signal: abort.signal })
      .then((answer) => {
        detail.value = answer;
      })
      .catch(() => {
        if (!abort.signal.aborted) {
          detail.value = null;
        }
      });
  });
}
