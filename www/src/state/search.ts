// Asks the session for what the search field holds, again whenever the text, the query or the names change.

import { effect } from "@preact/signals";
import { namesGeneration, phase, query, search, searchResult, searchStep, selection, session } from "./app.ts";

/** Typing asks once, after a pause that no one notices. */
const PAUSE_MS = 80;

export function followSearch(): void {
  let pending: AbortController | null = null;
  effect(() => {
    const text = search.value;
    const asked = query.value;
    void namesGeneration.value;
    const asking = session.value;
    pending?.abort();
    searchResult.value = null;
    searchStep.value = -1;
    if (text === "" || asking === null || phase.value.kind !== "open") {
      return;
    }
    const abort = new AbortController();
    pending = abort;
    const timer = setTimeout(() => {
      asking
        .call("search", { query: asked, text }, { signal: abort.signal })
        .then((result) => {
          searchResult.value = result;
        })
        .catch(() => {
          // Cancelled, or the worker died and says so itself.
        });
    }, PAUSE_MS);
    abort.signal.addEventListener("abort", () => clearTimeout(timer));
  });
}

/** Selects the next or the previous match, around the ends. */
export function stepSearch(by: 1 | -1): void {
  const matches = searchResult.peek()?.matches;
  if (matches === undefined || matches.length === 0) {
    return;
  }
  const from = searchStep.peek() === -1 && by === -1 ? 0 : searchStep.peek();
  const next = (from + by + matches.length) % matches.length;
  searchStep.value = next;
  selection.value = { callNode: matches[next] ?? null, functionId: null };
}
