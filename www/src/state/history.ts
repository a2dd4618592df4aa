// Back and Forward undo and redo what the user did to the view.
//
// A step of the user (another view, a zoom) is a history entry; typing in the search field replaces the present one.
// The entry's state holds what the address cannot: the zoom, whose call node numbers hold in this session only.
// Very long links are not rewritten at every step: the address then stays as it was opened.

import { batch, effect, untracked } from "@preact/signals";
import { ALL } from "../session/types.ts";
import { functionsOrder, namesGeneration, query, search, view, viewState, zoomRoot } from "./app.ts";
import { readFragment, writeFragment } from "./url.ts";

/** Rewriting the address copies it; beyond this length only the history entry is kept. */
const LONGEST_REWRITTEN = 65_536;

interface Entry {
  zoom: number;
  names: number;
}

let payload: string | null = null;

/** The payload that the address keeps; null once another profile was opened in its place. */
export function keepPayload(text: string | null): void {
  payload = text;
  write("replace");
}

/** Makes the graph's root `callNode`, as a step that Back undoes. */
export function zoomTo(callNode: number): void {
  if (callNode !== zoomRoot.peek()) {
    step(() => {
      zoomRoot.value = callNode;
    });
  }
}

/** Changes the state as one step that Back undoes. */
export function step(change: () => void): void {
  batch(change);
  write("push");
}

/** Starts following Back and Forward, and keeps the address up to date. Call once. */
export function followHistory(): void {
  const { payload: present, state } = readFragment(location.hash);
  payload = present;
  apply(state);
  window.addEventListener("popstate", (event) => {
    const entry = event.state as Entry | null;
    batch(() => {
      apply(readFragment(location.hash).state);
      zoomRoot.value = entry !== null && entry.names === namesGeneration.peek() ? entry.zoom : ALL;
    });
  });
  effect(() => {
    void search.value;
    void functionsOrder.value;
    untracked(() => write("replace"));
  });
}

function apply(state: ReturnType<typeof readFragment>["state"]): void {
  batch(() => {
    view.value = state.view;
    query.value = state.query;
    search.value = state.search;
    functionsOrder.value = state.order;
  });
}

function write(how: "push" | "replace"): void {
  const fragment = writeFragment({ payload, state: viewState.peek() });
  const address = fragment.length > LONGEST_REWRITTEN ? undefined : location.pathname + location.search + fragment;
  const entry: Entry = { zoom: zoomRoot.peek(), names: namesGeneration.peek() };
  if (how === "push") {
    history.pushState(entry, "", address);
  } else {
    history.replaceState(entry, "", address);
  }
}
