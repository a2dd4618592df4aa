// Asks the session for what the search field holds, again whenever the text, the query or the names change.

import { effect, signal } from "@preact/signals";
import { comparedSelection, comparing, compareView, request } from "../compare/state.ts";
import { ask } from "../session/ask.ts";
import type { Session } from "../session/client.ts";
import type { Args, SearchResult } from "../session/types.ts";
import { namesGeneration, phase, query, search, searchResult, searchStep, selection, session } from "./app.ts";

/** Typing asks once, after a pause that no one notices. */
const PAUSE_MS = 80;

/** What the view that is shown finds in its own text; null where it has none to search. */
export const within = signal<{
  /** null while it is looked for. */
  count: number | null;
  /** Which of them is chosen; -1 for none. */
  at: number;
  step: (way: 1 | -1) => void;
} | null>(null);

/** Steps that were asked for before there were matches to go through: taken when there are. */
let awaited = { text: "", by: 0 };

export function followSearch(): void {
  effect(() => {
    const text = search.value;
    const asked = query.value;
    const compared = request.value === null ? null : { request: request.value, view: compareView.value };
    void namesGeneration.value;
    const asking = session.value;
    searchResult.value = null;
    searchStep.value = -1;
    if (text === "" || asking === null || phase.value.kind !== "open") {
      return;
    }
    return ask(
      async ({ signal }) => {
        // What is taken back meanwhile is not asked.
        await new Promise((done) => setTimeout(done, PAUSE_MS));
        return compared === null
          ? asking.call("search", { query: asked, text }, { signal })
          : searchBoth(asking, compared, text, signal);
      },
      (result) => {
        searchResult.value = result;
        takeAwaited(text);
      },
    );
  });
}

/** What a text finds in two profiles: samples and shares are those of the side after. */
async function searchBoth(
  asking: Session,
  compared: Omit<Args<"comparedSearch">, "text">,
  text: string,
  signal: AbortSignal,
): Promise<SearchResult> {
  const view = { ...compared.view, basis: "share" } as const;
  const { functions, total, matches, listed, problem } = await asking.call(
    "comparedSearch",
    { ...compared, view, text },
    { signal },
  );
  return {
    functions,
    samples: total.afterSamples,
    weight: 0,
    share: total.after / 100,
    matches: Uint32Array.from(matches),
    listed,
    problem,
  };
}

/** Goes to the next or the previous place in the text that the view shows; where that has none, selects a function. */
export function stepFound(by: 1 | -1): void {
  const own = within.peek();
  if (own !== null && own.count !== 0) {
    own.step(by);
  } else {
    stepSearch(by);
  }
}

/** Selects the next or the previous match, around the ends; once it is known what matches. */
export function stepSearch(by: 1 | -1): void {
  const text = search.peek();
  if (searchResult.peek() !== null) {
    stepThrough(by);
  } else {
    awaited = { text, by: (awaited.text === text ? awaited.by : 0) + by };
  }
}

function takeAwaited(text: string): void {
  const { text: of, by } = awaited;
  awaited = { text: "", by: 0 };
  if (of === text && by !== 0) {
    stepThrough(by);
  }
}

function stepThrough(by: number): void {
  const length = searchResult.peek()?.matches.length ?? 0;
  if (length === 0) {
    return;
  }
  const from = searchStep.peek() === -1 && by < 0 ? 0 : searchStep.peek();
  chooseMatch((((from + by) % length) + length) % length);
}

/** Selects the match at a place, in the present result. */
export function chooseMatch(place: number): void {
  searchStep.value = place;
  const present = comparing.peek() === null ? selection : comparedSelection;
  present.value = { callNode: searchResult.peek()?.matches[place] ?? null, functionId: null };
}
