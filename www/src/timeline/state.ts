// What the timeline and the heat map know together: the whole of the time, what of it is in sight, and the cursor. The
// range itself is part of the query.

import { batch, computed, signal } from "@preact/signals";
import { draggedRange, info, query } from "../state/app.ts";
import { eventTasks } from "../state/event_tasks.ts";
import { ofProfile } from "../state/of_profile.ts";
import type { Query, Times, TrackBy, TrackSort } from "../session/types.ts";
import type { TimeSpan } from "./time_window.ts";
import { dropsSamples } from "../state/steps.ts";
import type { TimeAction } from "./keys.ts";
import { clampWindow, panWindow, sameSpan, zoomWindow } from "./time_window.ts";

/** When the last of what was worked out was: a wait may end after the last sample. */
const lastDerived = computed(() => (eventTasks.value?.processes ?? []).reduce((last, { end }) => Math.max(last, end), 0));

/** What is known of when samples were: of a recording everything, of a link what it kept. */
export const timesKnown = computed<Times>(() => info.value?.fidelity?.times ?? "samples");

/** Whether every sample is known by itself: only then are there ranges, threads and CPUs. */
export const hasSingleSamples = computed(() => timesKnown.value === "samples");

/**
 * Whether tracks have more than what is shown: of bins it is known whose they are, but not which DSOs and calls they passed
 * through.
 */
export const hasMoreThanShown = computed(() => {
  const ofBins = timesKnown.value === "processes" || timesKnown.value === "threads";
  return ofBins && (query.value.dsos.length > 0 || dropsSamples(query.value));
});

const length = computed<number | null>(() => {
  const time = info.value?.time;
  return time == null || timesKnown.value === "none" || time.start === null || time.end === null
    ? null
    : Math.max(time.end - time.start, lastDerived.value) + 1;
});

/** From the first sample to just past the last one; null where nothing is known of times. */
export const wholeTime = computed<TimeSpan | null>(() => (length.value === null ? null : { start: 0, end: length.value }));

/**
 * The query without what changes no track and no cell, as text: it stays the same while the range does not, nor steps that
 * take samples away, and so nothing is asked again.
 */
const filters = computed(() => {
  const asked: Query = { ...query.value, range: null, around: null, direction: "callees" };
  const plain: Query = { ...asked, steps: [], group: "process", inlines: "shown", unnamed: "one-per-dso" };
  return JSON.stringify(dropsSamples(asked) ? asked : plain);
});

/** The query for tracks and cells. */
export const timeQuery = computed(() => JSON.parse(filters.value) as Query);

/** What is in sight; null for all of it. */
export const zoomedTime = ofProfile<TimeSpan | null>(null);

/** The ranges that were zoomed into, outermost first. */
export const timeCrumbs = ofProfile<readonly TimeSpan[]>([]);

export const timeInSight = computed<TimeSpan>(() => {
  const whole = wholeTime.value ?? { start: 0, end: 1 };
  return zoomedTime.value === null ? whole : clampWindow(zoomedTime.value, whole);
});

/** Where the keys are in time; null before the first. */
export const timeCursor = ofProfile<number | null>(null);

/** CSS pixels of the plot: whatever shows the time in sight as well is as wide. */
export const plotWidth = signal(0);

/** An instant of a thread; of no particular one where the tracks at that place are of none. */
export interface Instant {
  time: number;
  tid: number | null;
}

/** Where the pointer is over the plot; null while it is elsewhere. */
export const pointedInstant = signal<(Instant & { x: number; y: number }) | null>(null);
/** The instant that was clicked, or chosen by key, last. */
export const chosenInstant = signal<Instant | null>(null);
/** What ran at a time, where anything on screen knows. */
export const stackWords = signal<{ time: number; words: string } | null>(null);

/** The range as it is being dragged, or as it is. */
export const rangeShown = computed(() => draggedRange.value ?? query.value.range);

/** What tracks can be of. */
export const trackKinds = computed<readonly TrackBy[]>(() => {
  switch (timesKnown.value) {
    case "samples":
      return ["process", "thread", "cpu"];
    case "threads":
      return ["process", "thread"];
    default:
      return ["process"];
  }
});
const chosenKind = signal<TrackBy>("process");
/** What tracks are of; where there are none of the kind that was chosen, processes. */
export const trackKind = computed<TrackBy>(() => (trackKinds.value.includes(chosenKind.value) ? chosenKind.value : "process"));
export function setTrackKind(kind: TrackBy): void {
  chosenKind.value = kind;
}
export const trackOrder = signal<TrackSort>("weight");
/** Processes whose threads are shown. */
export const openProcesses = ofProfile<ReadonlySet<number>>(new Set());
/** Tracks that are not shown: their names, by key. */
export const hiddenTracks = ofProfile<ReadonlyMap<string, string>>(new Map());

/** Shows a span; the whole leaves every zoom. */
export function showTime(span: TimeSpan): void {
  const whole = wholeTime.peek();
  zoomedTime.value = whole === null || sameSpan(span, whole) ? null : span;
}

/** Does what is asked of the time in sight; `about` is what stays where it is when it is magnified. */
export function changeTime(action: Exclude<TimeAction, { kind: "cursor" | "mark" }>, about = 0): void {
  const whole = wholeTime.peek() ?? { start: 0, end: 1 };
  switch (action.kind) {
    case "zoom":
      return showTime(zoomWindow(timeInSight.peek(), whole, about, action.factor));
    case "pan":
      return showTime(panWindow(timeInSight.peek(), whole, action.share));
    case "all":
      return leaveTo(-1);
    case "out-one":
      return leaveTo(timeCrumbs.peek().length - 2);
    case "fit-range": {
      // It stays; without a range there is nothing to zoom into.
      const range = query.peek().range;
      return range === null ? undefined : enterSpan({ start: range.start, end: range.end });
    }
  }
}

/** Zooms into a span as a crumb of its own. */
export function enterSpan(span: TimeSpan): void {
  batch(() => {
    // A crumb holds those before it: what is not inside of one begins again from the whole.
    const outer = timeCrumbs.peek().filter((each) => each.start <= span.start && each.end >= span.end);
    timeCrumbs.value = [...outer.filter((each) => !sameSpan(each, span)), span];
    showTime(span);
  });
}

/** Back to the crumb at a place, -1 for the whole. */
export function leaveTo(place: number): void {
  batch(() => {
    timeCrumbs.value = timeCrumbs.peek().slice(0, place + 1);
    zoomedTime.value = timeCrumbs.peek().at(-1) ?? null;
  });
}
