// Back and Forward undo and redo what the user did to the view.
//
// A step of the user (another view, a zoom) is a history entry; typing in the search field replaces the present one.
// The entry's state holds what the address cannot: the zoom, whose call node numbers hold in this session only.
// Very long links are not rewritten at every step: the address then stays as it was opened.
//
// Undo stays within the steps of the profile that is open: what lies before them is another profile, or another site,
// whose entry would take this page away. Back leads to an entry of another profile too, and opens that again: a link by
// the address, a file as long as this tab remembers it. One that is gone cannot come back: what is open stays, and takes
// the entry over.

import { batch, effect, signal, untracked } from "@preact/signals";
import { ALL } from "../session/types.ts";
import {
  comparison,
  functionsGroup,
  functionsOrder,
  linesOf,
  namesGeneration,
  query,
  search,
  pinnedThreads,
  shownThread,
  view,
  viewState,
  zoomRoot,
} from "./app.ts";
import { count } from "./format.ts";
import { toast } from "./toasts.ts";
import type { ViewState } from "./url.ts";
import { readFragment, writeFragment } from "./url.ts";

/** Rewriting the address copies it; beyond this length only the history entry is kept. */
const LONGEST_REWRITTEN = 65_536;

interface Entry {
  zoom: number;
  names: number;
  /** Counts the steps of this tab. */
  step: number;
  /** Of which profile, as `keepProfile` was told; empty before the first. */
  profile: string;
}

/** Browsers refuse more than a hundred changes of the address in thirty seconds, so typing makes fewer. */
const REWRITE_EVERY_MS = 400;

let payload: string | null = null;
let profile = "";

/** The step that is shown, and those between which undo and redo go. */
let [first, at, last] = [0, 0, 0];

/** Whether there is a step to take back, and one to take again. */
export const canUndo = signal(false);
export const canRedo = signal(false);
/** Another number with every step that comes to be shown, and with every profile: what belongs to one step ends with it. */
export const shownStep = signal(0);
/** Whether the browser was asked for another entry and has not shown it yet. */
let moving = false;

/**
 * Another profile is open from now on. `text` is the payload that the address keeps, if it came by one; `name` tells
 * its entries from those of others, and is the same when a reload opens the same again.
 */
export function keepProfile(text: string | null, name: string): void {
  // A long link that was pasted is not written into the address; nor may that of another stay there.
  const fits = text === null || text.length <= LONGEST_REWRITTEN || location.hash.startsWith(`#${text}`);
  payload = fits ? text : null;
  if (profile !== name) {
    [first, last] = [at, at];
    shownStep.value += 1;
  }
  profile = name;
  write("replace");
}

/** The address says again what is open: another profile was to open in its place, and did not. */
export function keepAddress(): void {
  write("replace");
}

/** Takes the last step back; does nothing where there is none. */
export function undo(): void {
  if (at > first && !moving) {
    moving = true;
    writeDue();
    history.back();
  }
}

/** Takes the step that was undone; does nothing where there is none. */
export function redo(): void {
  if (at < last && !moving) {
    moving = true;
    writeDue();
    history.forward();
  }
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
  writeDue();
  // What changes now stands in the new entry, not in the one that is left.
  rewriteFrom = performance.now() + REWRITE_EVERY_MS;
  batch(change);
  at += 1;
  [last, moving] = [at, false];
  shownStep.value += 1;
  write("push");
}

/** The address and the entry say what is shown now, as part of the present step: what was zoomed into was found again. */
export function amendStep(change: () => void): void {
  batch(change);
  write("replace");
}

/** Runs a change of the state by Back or Forward; the tree may be another one then. */
type ChangeRunner = (change: () => void) => void;
let runChange: ChangeRunner = batch;

/** Opens again, as an entry showed it, what `keepProfile` was told; false where that is gone. */
type Reopen = (profile: string, state: ViewState) => boolean;
let reopen: Reopen = () => false;

/** Starts following Back and Forward, and keeps the address up to date. Call once. */
export function followHistory(changing: ChangeRunner = batch, reopening: Reopen = () => false): void {
  [runChange, reopen] = [changing, reopening];
  const { payload: present, state, passedOver } = readFragment(location.hash);
  payload = present;
  apply(state);
  tellPassedOver(passedOver);
  const before = history.state as Partial<Entry> | null;
  at = before?.step ?? 0;
  [first, last, profile] = [at, at, before?.profile ?? ""];
  window.addEventListener("popstate", (event) => show(event.state as Entry | null));
  effect(() => {
    void search.value;
    void functionsOrder.value;
    void functionsGroup.value;
    void shownThread.value;
    void pinnedThreads.value;
    untracked(rewrite);
  });
  window.addEventListener("pagehide", writeDue);
}

/** When the address may be rewritten again, and who does it then. */
let rewriteFrom = 0;
let due: ReturnType<typeof setTimeout> | null = null;

/** Rewrites the address at once, or after a while if that was done a moment ago. */
function rewrite(): void {
  const wait = rewriteFrom - performance.now();
  if (wait <= 0) {
    rewriteFrom = performance.now() + REWRITE_EVERY_MS;
    write("replace");
  } else {
    due ??= setTimeout(() => {
      rewriteFrom = performance.now() + REWRITE_EVERY_MS;
      write("replace");
    }, wait);
  }
}

/** The present entry says what is shown, before another one is. */
function writeDue(): void {
  if (due !== null) {
    write("replace");
  }
}

function forgetDue(): void {
  if (due !== null) {
    clearTimeout(due);
    due = null;
  }
}

function show(entry: Entry | null): void {
  moving = false;
  // It was of the entry that is left.
  forgetDue();
  const address = readFragment(location.hash);
  const isOther = entry !== null && entry.profile !== profile && profile !== "";
  tellPassedOver(address.passedOver);
  // An address that was typed has no entry yet.
  at = entry?.step ?? at + 1;
  shownStep.value += 1;
  if (address.payload !== null && address.payload !== payload) {
    // Another link, which opens: followLinks in main.tsx.
    runChange(() => apply(address.state));
  } else if (isOther && address.payload === null) {
    [first, last] = [at, at];
    if (!reopen(entry.profile, address.state)) {
      write("replace");
    }
  } else {
    [first, last] = [Math.min(first, at), entry === null ? at : Math.max(last, at)];
    runChange(() => {
      apply(address.state);
      zoomRoot.value = entry !== null && entry.names === namesGeneration.peek() ? entry.zoom : ALL;
    });
    write("replace");
  }
}

/** Parts that a toast names, and how much of each. */
const MOST_TOLD = 3;
const LONGEST_TOLD = 60;

/** Whoever sent an address meant something by every part of it. The page rewrites it, so this is said once. */
function tellPassedOver(parts: readonly string[]): void {
  if (parts.length === 0) {
    return;
  }
  const told = parts.slice(0, MOST_TOLD).map((part) => (part.length > LONGEST_TOLD ? `${part.slice(0, LONGEST_TOLD)}…` : part));
  const more = parts.length - told.length;
  const what = parts.length === 1 ? "an unknown part" : `${count(parts.length)} unknown parts`;
  toast("info", `The address has ${what}: ${told.join(", ")}${more > 0 ? ` and ${count(more)} more` : ""}`);
}

/** Shows a profile that opens as its address says, or its sender; the entry takes it over when the profile is there. */
export function apply(state: ViewState): void {
  batch(() => {
    view.value = state.view;
    // The same question is not asked again.
    if (JSON.stringify(state.query) !== JSON.stringify(query.peek())) {
      query.value = state.query;
    }
    search.value = state.search;
    functionsOrder.value = state.order;
    functionsGroup.value = state.groupBy;
    shownThread.value = state.thread;
    if (state.pinned.join() !== pinnedThreads.peek().join()) {
      pinnedThreads.value = state.pinned;
    }
    comparison.value = state.comparison;
    if (JSON.stringify(state.lines) !== JSON.stringify(linesOf.peek())) {
      linesOf.value = state.lines;
    }
  });
}

function write(how: "push" | "replace"): void {
  forgetDue();
  [canUndo.value, canRedo.value] = [at > first, at < last];
  const fragment = writeFragment({ payload, state: viewState.peek() });
  const address = fragment.length > LONGEST_REWRITTEN ? undefined : location.pathname + location.search + fragment;
  const entry: Entry = { zoom: zoomRoot.peek(), names: namesGeneration.peek(), step: at, profile };
  if (how === "push") {
    history.pushState(entry, "", address);
  } else {
    history.replaceState(entry, "", address);
  }
}
