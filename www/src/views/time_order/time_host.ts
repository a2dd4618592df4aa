// Threads' stacks along time, each as a graph that shows the time that the timeline shows, on the same scale: what is on
// screen is asked for again whenever that moves, since a whole recording has more boxes than any layout of it could hold.

import type { ReadonlySignal, Signal } from "@preact/signals";
import { computed, signal } from "@preact/signals";
import type { Query, TimeOrder } from "../../session/types.ts";
import { ALL } from "../../session/types.ts";
import type { Selection } from "../../state/app.ts";
import { pinnedThreads, query, search, shownThread } from "../../state/app.ts";
import { threads } from "../../state/event_tasks.ts";
import { countSamples } from "../../state/format.ts";
import { enterSpan, leaveTo, showTime, timeCrumbs, timeInSight, wholeTime, zoomedTime } from "../../timeline/state.ts";
import type { TimeSpan } from "../../timeline/time_window.ts";
import { lengthOf, SHORTEST_NS } from "../../timeline/time_window.ts";
import type { Canvas, GraphHost, Layout } from "../flame/host.ts";
import { FOLD_BELOW_PX } from "../flame/host.ts";
import type { LaidOutGraph } from "../flame/stage.ts";
import type { Sight, View } from "../flame/zoom.ts";
import { WHOLE } from "../flame/zoom.ts";
import { flow } from "../options.ts";
import { timeSpan } from "./time_words.ts";

/** How many times as many boxes as are needed are kept, rather than asking for fewer. */
const TOO_FINE = 4;

/** The tid that is shown: the chosen one, the only one that is not filtered out, or the heaviest. */
export const thread = computed<number | null>(() => {
  const [only, ...others] = query.value.threads;
  return shownThread.value ?? (others.length === 0 ? only : undefined) ?? threads.value[0]?.tid ?? null;
});

/** Those that are shown below it. */
export const threadsBelow = computed(() => pinnedThreads.value.filter((tid) => tid !== thread.value));

const NO_TIME: TimeSpan = { start: 0, end: 1 };

/** The time at a part of the whole. */
function timeAt({ start, end }: TimeSpan, part: number): number {
  return start + part * (end - start);
}

function spanOfView({ left, span }: View): TimeSpan {
  const whole = wholeTime.peek() ?? NO_TIME;
  return { start: timeAt(whole, left), end: timeAt(whole, left + span) };
}

/** What of the whole lies before a time. */
export function partAt(time: number): number {
  const whole = wholeTime.peek() ?? NO_TIME;
  return (time - whole.start) / lengthOf(whole);
}

/** The time in sight is that of the timeline. */
const timeSight: Sight = {
  view: computed(() => {
    const whole = wholeTime.value ?? NO_TIME;
    const { start, end } = timeInSight.value;
    return zoomedTime.value === null
      ? WHOLE
      : { left: (start - whole.start) / lengthOf(whole), span: (end - start) / lengthOf(whole) };
  }),
  motion: "at-once",
  smallest: () => Math.min(1, SHORTEST_NS / lengthOf(wholeTime.peek() ?? NO_TIME)),
  show: (view) => showTime(spanOfView(view)),
  out() {
    const isZoomed = zoomedTime.peek() !== null;
    leaveTo(timeCrumbs.peek().length - 2);
    return isZoomed;
  },
};

/** The call nodes of boxes are those of the tree of callees, whichever way the other trees stand. */
export const callees = computed<Query>(() =>
  query.value.direction === "callees" && query.value.around === null
    ? query.value
    : { ...query.value, direction: "callees", around: null },
);

function covers(laid: LaidOutGraph, key: string, view: View, resolution: number): boolean {
  const { left, span } = laid.part;
  const has = laid.layoutPx / span;
  const isWide = left <= view.left + 1e-12 && left + span >= view.left + view.span - 1e-12;
  return laid.key === key && isWide && has >= resolution * 0.99 && has <= resolution * TOO_FINE;
}

export interface TimeHost extends GraphHost {
  /** Why nothing is drawn, as the session says; null where something is. */
  readonly nothing: ReadonlySignal<TimeOrder["nothing"]>;
}

/** `selection` is that of the page where its call nodes are of the tree of callees. */
export function timeHost(
  tid: ReadonlySignal<number | null>,
  selection: Signal<Selection | null>,
  follows: "all" | "own",
): TimeHost {
  const nothing = signal<TimeOrder["nothing"]>(null);
  const layout = (widthPx: number, part: View, present: (key: string) => boolean): Layout | null => {
    const [whole, thread, text] = [wholeTime.value, tid.value, search.value];
    const key = `${thread} ${whole?.end} ${text}`;
    if (whole === null || thread === null || present(key)) {
      return null;
    }
    const asked = callees.value;
    const window = {
      thread,
      start: Math.round(timeAt(whole, part.left)),
      end: Math.round(timeAt(whole, part.left + part.span)),
      widthPx,
      minPx: FOLD_BELOW_PX,
      search: text,
    };
    return {
      query: asked,
      layoutPx: widthPx,
      part,
      searching: text !== "",
      key,
      ask: async (session, options) => {
        const graph = await session.call("timeOrder", { query: asked, window }, options);
        nothing.value = graph.nothing;
        // A share of what happens to be on screen would say nothing: no box gets one.
        return { graph: { ...graph, rootTotal: 0, rootSamples: 0 }, root: ALL };
      },
    };
  };
  return {
    query: callees,
    selection,
    flow,
    sight: timeSight,
    follows,
    menu: "transforms",
    nothing,
    layout(canvas: Canvas) {
      const view = canvas.target.value;
      // Half a screen more on both sides, so that a small move shows no gap.
      const left = Math.max(0, view.left - view.span / 2);
      const right = Math.min(1, view.left + view.span * 1.5);
      const part = { left, span: right - left };
      const { present, width } = canvas;
      return layout(
        Math.round((width * part.span) / view.span),
        part,
        (key) => present !== null && covers(present, key, view, width / view.span),
      );
    },
    map: () => null,
    seen: (_, __, { left, span }) => [left, left + span],
    zoomTo: () => leaveTo(-1),
    enter: (_, at) => enterSpan(spanOfView(at)),
    note(laid, box) {
      const whole = wholeTime.peek();
      const samples = (laid.graph as TimeOrder).samples[box] ?? 0;
      return whole === null ? "" : `Here: ${timeSpan(spanOf(laid, box, whole))}, ${countSamples(samples)}`;
    },
    outOne: () => {},
  };
}

/** When a box begins and ends, as far as it is laid out. */
export function spanOf({ graph, part, layoutPx }: LaidOutGraph, box: number, whole: TimeSpan): TimeSpan {
  const at = (x: number): number => timeAt(whole, part.left + (x / layoutPx) * part.span);
  return { start: at(graph.start[box] as number), end: at(graph.end[box] as number) };
}
