// The state of the page, one signal an idea. Components read signals; state changes through the functions of state/,
// open/, ledger/ and share/. Nothing here touches the DOM.

import { computed, signal } from "@preact/signals";
import type { Session } from "../session/client.ts";
import type {
  Coverage,
  DsoRow,
  FunctionRef,
  FunctionsOrder,
  ProfileInfo,
  Progress,
  Query,
  SearchResult,
  SessionFailure,
  TimeRange,
  Trusted,
} from "../session/types.ts";
import { ALL } from "../session/types.ts";
import { ofProfile } from "./of_profile.ts";
import type { ComparisonState, FunctionGroup, View, ViewState } from "./url.ts";
import { DEFAULT_VIEW_STATE, isOfData } from "./url.ts";

/** Where the profile came from; `page` is one embedded in this document, `served` one of `perftab view`. */
export type Origin = "file" | "sample" | "link" | "page" | "served";

/** What went wrong, with what the user was opening. */
export interface OpenFailure {
  name: string;
  failure: SessionFailure;
}

export type Phase =
  /** The page has something to open by itself, and asks what it is. */
  | { kind: "arriving" }
  | { kind: "empty"; failure: OpenFailure | null }
  /** The first of a profile is read, and nothing is open. A person who chose it sees how that goes where it was chosen. */
  | { kind: "opening"; name: string; screen: "skeleton" | "open-screen" }
  | { kind: "open" }
  | { kind: "died"; message: string };

export const phase = signal<Phase>({ kind: "empty", failure: null });

/** The worker's session; null until the page has started it. */
export const session = signal<Session | null>(null);

export interface OpenedProfile {
  name: string;
  bytes: number | null;
  origin: Origin;
  /** `Date.now()` when it was opened. */
  when: number;
  /** When its file was written last; null for what is no file, and for the sample, which is older than the page. */
  modified: number | null;
  /** Where `perftab view` says what it has at the paths of its files; null of what it did not serve. */
  trusted: Trusted | null;
}

/** Whether more is being read of what is open. */
export const isGrowing = signal(false);
/** How much of its file is shown then, as a share. */
export const shownShare = signal(0);

/** What is open. */
export const opened = signal<OpenedProfile | null>(null);
export const info = signal<ProfileInfo | null>(null);

/** For commands: a link does not know what its recording was called. */
export const recordingName = computed(() => {
  const { origin, name } = opened.value ?? {};
  return name !== undefined && (origin === "file" || origin === "served") ? name : "perf.data";
});

export const dsos = signal<readonly DsoRow[]>([]);
export const coverage = signal<Coverage | null>(null);

/** DSOs whose names come from a file that is not the one that ran, because the user, or the sender of a link, insisted. */
export const forcedRows = computed(() => dsos.value.filter((row) => row.status === "forced"));

const isSampledFile = ({ kind, samples }: DsoRow): boolean => kind !== "anon" && kind !== "jit" && samples > 0;

/** Files that were recorded without a build-id. Where a link leaves it out they may have names all the same. */
export const unidentifiedOf = (rows: readonly DsoRow[]): DsoRow[] =>
  rows.filter((row) => isSampledFile(row) && row.status === "no-identity");

/** Nothing that ran from a file has a build-id: no file can be told to be right, and none to be wrong. */
export const haveNoBuildIds = (rows: readonly DsoRow[]): boolean =>
  rows.some(isSampledFile) && rows.filter(isSampledFile).length === unidentifiedOf(rows).length;

export const hasNoBuildIds = computed(() => haveNoBuildIds(dsos.value));

/** Changes whenever names do: a view that asked before must ask again, and its call node numbers mean nothing now. */
export const namesGeneration = signal(0);

// What is shown -------------------------------------------------------------------------------------------------------

export const view = signal<View>(DEFAULT_VIEW_STATE.view);
/** What all views ask; changed through views/query_steps.ts, one step of the history a change. */
export const query = signal<Query>(DEFAULT_VIEW_STATE.query);
/** The range that is being dragged and is no step yet; null while none is. */
export const draggedRange = signal<TimeRange | null>(null);
/** The call node that fills the width of the flame graph; `ALL` for the whole profile. */
export const zoomRoot = ofProfile<number>(ALL);
export const functionsOrder = signal<FunctionsOrder>(DEFAULT_VIEW_STATE.order);
/** Whether samples say something of memory accesses. Links and saved pages do not hold that. */
export const hasAccesses = computed(() => (info.value?.memory_accesses ?? 0) > 0);
/** What a row of the functions table is to stand for. */
export const functionsGroup = signal<FunctionGroup>(DEFAULT_VIEW_STATE.groupBy);
/** What it does stand for: an address may ask for what the profile does not have. */
export const shownGroup = computed(() =>
  isOfData(functionsGroup.value) && !hasAccesses.value ? DEFAULT_VIEW_STATE.groupBy : functionsGroup.value,
);
/** Lets rows stand for something else. */
export function groupBy(group: FunctionGroup): void {
  functionsGroup.value = group;
  // Only data has what one access cost.
  if (!isOfData(group) && functionsOrder.peek().key === "mean") {
    functionsOrder.value = DEFAULT_VIEW_STATE.order;
  }
}
/** The function whose lines stand beside the functions; null while callers and callees do. */
export const linesOf = signal<FunctionRef | null>(DEFAULT_VIEW_STATE.lines);
/** The tid that the time order shows; null for the heaviest thread. */
export const shownThread = signal<number | null>(DEFAULT_VIEW_STATE.thread);
/** The tids that the time order shows below that one, whichever it is. */
export const pinnedThreads = signal<readonly number[]>(DEFAULT_VIEW_STATE.pinned);

/** What is compared with what; null while one profile is shown. */
export const comparison = signal<ComparisonState | null>(DEFAULT_VIEW_STATE.comparison);

/** The text of the search field and what it found; null while it is being asked or where the text is empty. */
export const search = signal("");
export const searchResult = signal<SearchResult | null>(null);
/** Index into `searchResult.matches` of the match that Enter stepped to. */
export const searchStep = signal(-1);

/**
 * One selection for all views. The flame graph and the call tree know the call node; the functions table knows the
 * function only, and says what its row says.
 */
export interface Selection {
  callNode: number | null;
  functionId: number | null;
  row?: { name: string; dso: string; self: number; total: number; kind: number; flags: number };
}

export const selection = ofProfile<Selection | null>(null);
/** What the pointer is over, as one line for the status bar. */
export const hovered = signal("");

// The frame around it -------------------------------------------------------------------------------------------------

export type Dock = "dsos" | "selection";
export const dock = signal<Dock>("dsos");
export const dockOpen = signal(true);
/** The ledger over the whole width, instead of view and dock. */
export const ledgerFull = ofProfile(false);
/** The DSO that the ledger explains. */
export const selectedDso = ofProfile<number | null>(null);

/** Work that runs now, newest last. */
export interface Task {
  id: number;
  /** "Reading", "Naming" … */
  label: string;
  /** `performance.now()` when it began. */
  began: number;
  progress: Progress | null;
  cancel: (() => void) | null;
}

export const tasks = signal<readonly Task[]>([]);
export const workerBytes = signal<number | null>(null);

/** What can be shown, in the order of a query's numbers: what was recorded, then what was worked out from it. */
export const events = computed(() => (info.value === null ? [] : [...info.value.events, ...info.value.derived_events]));

export const event = computed(() => events.value[query.value.event] ?? null);

/** True for an event that the recording itself does not have. */
export function isDerived(index: number): boolean {
  return index >= (info.value?.events.length ?? 0);
}

/** The part of the state that an address carries. */
export const viewState = computed<ViewState>(() => ({
  view: view.value,
  query: query.value,
  search: search.value,
  order: functionsOrder.value,
  groupBy: functionsGroup.value,
  thread: shownThread.value,
  pinned: pinnedThreads.value,
  comparison: comparison.value,
  lines: linesOf.value,
}));
