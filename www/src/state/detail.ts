// What is known of the selected call node: asked once for all that say something of it.

import { computed } from "@preact/signals";
import { answerTo } from "../session/ask.ts";
import type { CallNodeAround } from "../session/types.ts";
import { namesGeneration, query, selection, session, view } from "./app.ts";

/** Callers and callees beyond these are not spoken. */
export const MOST_SPOKEN = 80;

export const selectedCallNode = computed(() => selection.value?.callNode ?? null);

/**
 * What the session says of the selected call node and of what is around it; null while none is selected. Until the answer to
 * another one is there it is the former one.
 */
export const selectedCall = answerTo<CallNodeAround | null>(() => {
  void namesGeneration.value;
  const [asking, asked, callNode] = [session.value, query.value, selectedCallNode.value];
  return asking === null || callNode === null
    ? null
    : ({ signal }) => asking.call("callNode", { query: asked, callNode, most: MOST_SPOKEN }, { signal });
});

export const detail = computed(() => selectedCall.value?.detail ?? null);

/** The row that is selected where its table is on the screen: elsewhere its heaviest call is what is shown as selected. */
export const selectedRow = computed(() => (view.value === "functions" ? selection.value?.row : undefined));
