// One thread's stacks along time, as a graph: what is on screen is asked for again whenever the window moves, since a
// whole recording has more boxes than any layout of it could hold.

import type { ReadonlySignal, Signal } from "@preact/signals";
import { computed, signal } from "@preact/signals";
import type { Query, TimeOrder } from "../../session/types.ts";
import { ALL } from "../../session/types.ts";
import type { Selection } from "../../state/app.ts";
import { info, query, search, shownThread } from "../../state/app.ts";
import { threads } from "../../state/event_tasks.ts";
import type { Canvas, GraphHost, Layout } from "../flame/host.ts";
import { FOLD_BELOW_PX } from "../flame/host.ts";
import type { LaidOutGraph } from "../flame/stage.ts";
import type { View } from "../flame/zoom.ts";
import { flow } from "../options.ts";
import { timeSpan } from "./time_words.ts";
import { countSamples } from "../../state/format.ts";

/** A microsecond of a quarter of an hour. */
const SMALLEST_SPAN = 1e-9;
/** How many times as many boxes as are needed are kept, rather than asking for fewer. */
const TOO_FINE = 4;

/** Nanoseconds since the first time of the recording. */
export interface Span {
  start: number;
  end: number;
}

/** The tid that is shown: the chosen one, the only one that is not filtered out, or the heaviest. */
export const thread = computed<number | null>(() => {
  const [only, ...others] = query.value.threads;
  return shownThread.value ?? (others.length === 0 ? only : undefined) ?? threads.value[0]?.tid ?? null;
});

/** What fills the width when nothing is zoomed: the range, or all of the recording. Null where samples have no time. */
export const whole = computed<Span | null>(() => {
  const { start, end } = info.value?.time ?? { start: null, end: null };
  if (start === null || end === null) {
    return null;
  }
  const { range } = query.value;
  return range !== null && range.side !== "outside" && range.end > range.start
    ? { start: range.start, end: range.end }
    : { start: 0, end: Math.max(1, end - start + 1) };
});

/** The call nodes of boxes are those of the tree of callees, whichever way the other trees stand. */
const callees = computed<Query>(() =>
  query.value.direction === "callees" && query.value.around === null
    ? query.value
    : { ...query.value, direction: "callees", around: null },
);

/** Why nothing is drawn, as the session says; null where something is. */
export const nothing = signal<TimeOrder["nothing"]>(null);

/** The time at a part of the whole. */
export function timeAt({ start, end }: Span, part: number): number {
  return start + part * (end - start);
}

function ask(asked: Query, tid: number, span: Span, widthPx: number, minPx: number, text: string): Layout["ask"] {
  const window = { thread: tid, start: Math.round(span.start), end: Math.round(span.end), widthPx, minPx, search: text };
  return async (session, options) => {
    const graph = await session.call("timeOrder", { query: asked, window }, options);
    nothing.value = graph.nothing;
    // A share of what happens to be on screen would say nothing: no box gets one.
    return { graph: { ...graph, rootTotal: 0, rootSamples: 0 }, root: ALL };
  };
}

function covers(laid: LaidOutGraph, key: string, view: View, resolution: number): boolean {
  const { left, span } = laid.part;
  const has = laid.layoutPx / span;
  const isWide = left <= view.left + 1e-12 && left + span >= view.left + view.span - 1e-12;
  return laid.key === key && isWide && has >= resolution * 0.99 && has <= resolution * TOO_FINE;
}

/** `selection` is that of the page where its call nodes are of the tree of callees. */
export function timeHost(selection: Signal<Selection | null>): GraphHost {
  const layout = (widthPx: number, part: View, minPx: number): Layout | null => {
    const [span, tid, text] = [whole.value, thread.value, search.value];
    if (span === null || tid === null) {
      return null;
    }
    const asked = { start: timeAt(span, part.left), end: timeAt(span, part.left + part.span) };
    return {
      query: callees.value,
      layoutPx: widthPx,
      part,
      searching: text !== "",
      key: `${tid} ${span.start} ${span.end} ${text}`,
      ask: ask(callees.value, tid, asked, widthPx, minPx, text),
    };
  };
  return {
    query: callees as ReadonlySignal<Query>,
    selection,
    flow,
    smallestSpan: SMALLEST_SPAN,
    menu: "transforms",
    layout(canvas: Canvas) {
      const view = canvas.target.value;
      // Half a screen more on both sides, so that a small move shows no gap.
      const left = Math.max(0, view.left - view.span / 2);
      const right = Math.min(1, view.left + view.span * 1.5);
      const part = { left, span: right - left };
      const wanted = layout(Math.round((canvas.width * part.span) / view.span), part, FOLD_BELOW_PX);
      const { present } = canvas;
      return wanted !== null && present !== null && covers(present, wanted.key, view, canvas.width / view.span) ? null : wanted;
    },
    map: (widthPx) => layout(widthPx, { left: 0, span: 1 }, 1),
    seen: (_, __, { left, span }) => [left, left + span],
    zoomTo: () => {},
    enter: (_, at) => at,
    note(laid, box) {
      const span = whole.peek();
      const samples = (laid.graph as TimeOrder).samples[box] ?? 0;
      return span === null ? "" : `Here: ${timeSpan(spanOf(laid, box, span))}, ${countSamples(samples)}`;
    },
    outOne: () => {},
  };
}

/** When a box begins and ends, as far as it is laid out. */
export function spanOf({ graph, part, layoutPx }: LaidOutGraph, box: number, span: Span): Span {
  const at = (x: number): number => timeAt(span, part.left + (x / layoutPx) * part.span);
  return { start: at(graph.start[box] as number), end: at(graph.end[box] as number) };
}
