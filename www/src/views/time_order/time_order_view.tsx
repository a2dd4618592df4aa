// Threads' stacks along time, below the timeline and on its scale: one thread, and below it those that are pinned.

import type { ReadonlySignal, Signal } from "@preact/signals";
import { effect, signal, untracked, useSignal, useSignalEffect } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Selection } from "../../state/app.ts";
import { pinnedThreads, query, selection, shownThread } from "../../state/app.ts";
import { threadNames, threads } from "../../state/event_tasks.ts";
import { count } from "../../state/format.ts";
import { timelineShape } from "../../state/layout.ts";
import { MOST_PINNED } from "../../state/url.ts";
import {
  enterSpan,
  hasSingleSamples,
  leaveTo,
  plotWidth,
  pointedInstant,
  timeCursor,
  timeInSight,
  wholeTime,
  zoomedTime,
} from "../../timeline/state.ts";
import { ticksFor } from "../../timeline/ticks.ts";
import type { TimeSpan } from "../../timeline/time_window.ts";
import { lengthOf, sameSpan, xOf } from "../../timeline/time_window.ts";
import { NO_SINGLE_SAMPLES } from "../../timeline/words.ts";
import { noSamples } from "../empty.ts";
import { EmptyView } from "../empty_view.tsx";
import { findSelectedFunction } from "../find_function.ts";
import { GraphPane } from "../flame/graph_pane.tsx";
import { Legend } from "../flame/legend.tsx";
import { FlameModel } from "../flame/model.ts";
import { useTreeNeighbours } from "../flame/tree_mirror.ts";
import { textScale } from "../text_scale.ts";
import { followInstants } from "./instant.ts";
import { InstantCard } from "./instant_card.tsx";
import type { TimeHost } from "./time_host.ts";
import { partAt, thread, threadsBelow, timeHost } from "./time_host.ts";
import { timeMirrorItems } from "./time_mirror.ts";
import { timeSpan } from "./time_words.ts";

/** A list of thousands would keep the page from answering; others are chosen by key, or in the context bar. */
const MOST_THREADS = 200;
/** Threads that were there for less of the time get all of the width. */
const FITS_BELOW = 0.8;
/** Free beside what was fitted, of its length. */
const BESIDE = 0.02;

const WORDS = {
  "no-times": "The samples have no timestamps.",
  "no-thread": "This thread is not in the recording. Choose another one.",
  "no-samples": "No samples of this thread here. Choose another thread or clear the filters.",
} as const;

interface LaneModel {
  host: TimeHost;
  model: FlameModel;
}

export function TimeOrderView(): JSX.Element {
  const own = useSignal<Selection | null>(null);
  const isInverted = query.value.direction === "inverted";
  const chosen = isInverted ? own : selection;
  const main = useMemo(() => laneOf(thread, chosen, "all"), [chosen]);
  // In another tree a call has another number, its function has not.
  useSignalEffect(() => {
    const functionId = own.value?.functionId ?? null;
    if (functionId !== null && selection.peek()?.functionId !== functionId) {
      selection.value = { callNode: null, functionId };
      findSelectedFunction();
    }
  });
  useEffect(followThread, []);
  useEffect(
    () =>
      followInstants(({ time, calls }) => {
        const last = calls.at(-1);
        if (last !== undefined) {
          main.model.selectAt({ callNode: last.callNode, functionId: last.functionId }, last.row, partAt(time));
        }
      }),
    [main],
  );
  const area = useRef<HTMLElement>(null);
  const seen = wholeTime.value === null ? null : timeInSight.value;
  return (
    <section class="flame-view time-order" ref={area} aria-label="Time order" style={`--plot: ${plotWidth.value}px`}>
      <div class="breadcrumb-row">
        <nav class="breadcrumb" aria-label="Zoom">
          <ThreadChooser />
          {zoomedTime.value !== null && (
            <>
              <Separator />
              <button type="button" class="crumb" onClick={() => main.model.reset()}>
                all
              </button>
            </>
          )}
          <Separator />
          <strong aria-current="location">{seen === null ? "no timestamps" : timeSpan(seen)}</strong>
        </nav>
        <Legend />
      </div>
      <EmptyView words={words(main)} />
      {seen !== null && timelineShape.value === "strip" && <Axis span={seen} />}
      <Lane key="main" label="Time order" lane={main} tid={thread.value} />
      {threadsBelow.value.map((tid) => (
        <PinnedLane key={tid} tid={tid} chosen={chosen} />
      ))}
      <InstantCard />
    </section>
  );
}

function laneOf(tid: ReadonlySignal<number | null>, chosen: Signal<Selection | null>, follows: "all" | "own"): LaneModel {
  const host = timeHost(tid, chosen, follows);
  return { host, model: new FlameModel(host) };
}

function PinnedLane({ tid, chosen }: { tid: number; chosen: Signal<Selection | null> }): JSX.Element {
  const lane = useMemo(() => laneOf(signal(tid), chosen, "own"), [tid, chosen]);
  return <Lane label={`Time order of ${threadName(tid)}`} lane={lane} tid={tid} />;
}

interface LaneProps {
  /** What the graph is called. */
  label: string;
  lane: LaneModel;
  tid: number | null;
}

function Lane({ label, lane: { host, model }, tid }: LaneProps): JSX.Element {
  const area = useRef<HTMLDivElement>(null);
  const around = useTreeNeighbours(model);
  const laid = model.laid.value;
  const whole = wholeTime.value;
  const items = laid !== null && whole !== null ? timeMirrorItems(laid, model.selectedBox.value, whole, around) : [];
  const bases = { all: laid?.graph.allTotal ?? 0, allName: "what is shown in all threads", root: 0, rootName: null };
  return (
    <div class="time-lane" ref={area}>
      <div class="time-lane-head">
        <span class="time-lane-name">{tid === null ? "" : threadName(tid)}</span>
        {tid !== null && <Pin tid={tid} />}
        {tid !== thread.value && host.nothing.value !== null && <span class="ink-mute">nothing here</span>}
      </div>
      <GraphPane model={model} area={area} label={label} items={items} bases={bases}>
        <Instants />
      </GraphPane>
    </div>
  );
}

/** The cursor and the pointer of the timeline, over the stacks. */
function Instants(): JSX.Element {
  return (
    <div class="time-instants" aria-hidden="true">
      <InstantLine time={pointedInstant.value?.time ?? null} kind="pointed" />
      <InstantLine time={timeCursor.value} kind="cursor" />
    </div>
  );
}

function InstantLine({ time, kind }: { time: number | null; kind: string }): JSX.Element | null {
  const span = timeInSight.value;
  return time === null || time < span.start || time > span.end ? null : (
    <span class={kind} style={{ left: `${Math.round(xOf(time, span, plotWidth.value))}px` }} />
  );
}

function Pin({ tid }: { tid: number }): JSX.Element {
  const isPinned = pinnedThreads.value.includes(tid);
  const others = pinnedThreads.value.filter((each) => each !== tid);
  const word = isPinned ? "Unpin" : "Pin";
  return (
    <button
      type="button"
      class="quiet"
      aria-label={`${word} ${threadName(tid)}`}
      disabled={!isPinned && others.length >= MOST_PINNED}
      title="A pinned thread stays below while others are chosen"
      onClick={() => {
        pinnedThreads.value = isPinned ? others : [...others, tid];
      }}
    >
      {word}
    </button>
  );
}

function threadName(tid: number): string {
  return `${threadNames.value.get(tid) ?? ""} ${tid}`.trim();
}

/**
 * Where the threads that are shown were there for a part of the time, that gets all of the width, as a crumb of the timeline;
 * whoever has zoomed already stays there. The answer ends it, and goes back to all of the time.
 */
function followThread(): () => void {
  let fitted: TimeSpan | null = null;
  let asked: number | null = null;
  const leave = (): void => {
    if (fitted !== null && sameSpan(zoomedTime.peek(), fitted)) {
      leaveTo(-1);
    }
    fitted = null;
  };
  const fit = (): void => {
    const [whole, there] = [wholeTime.peek(), extent()];
    const isWhereItWas = zoomedTime.peek() === null || sameSpan(zoomedTime.peek(), fitted);
    if (whole === null || there === null || !isWhereItWas) {
      return;
    }
    leave();
    if (lengthOf(there) < FITS_BELOW * lengthOf(whole)) {
      fitted = there;
      enterSpan(there);
    }
  };
  const stop = effect(() => {
    const tid = thread.value;
    // Known a moment after the profile has opened.
    if (tid !== null && tid !== asked && threads.value.length > 0) {
      asked = tid;
      untracked(fit);
    }
  });
  return () => {
    stop();
    leave();
  };
}

/** When any of the threads that are shown was sampled, as far as the range goes. */
function extent(): TimeSpan | null {
  const shown = [thread.peek(), ...threadsBelow.peek()];
  const rows = threads.peek().filter(({ tid }) => shown.includes(tid));
  const [whole, { range }] = [wholeTime.peek(), query.peek()];
  if (rows.length === 0 || whole === null) {
    return null;
  }
  const [first, last] = [Math.min(...rows.map(({ start }) => start)), Math.max(...rows.map(({ end }) => end))];
  const beside = Math.max(1, (last - first) * BESIDE);
  const within = range !== null && range.side !== "outside" ? range : whole;
  const start = Math.max(whole.start, within.start, first - beside);
  const end = Math.min(whole.end, within.end, last + beside);
  return end > start ? { start, end } : null;
}

function words({ host, model }: LaneModel): { text: string; event: null } | ReturnType<typeof noSamples> {
  if (model.failure.value !== null) {
    return { text: model.failure.value, event: null };
  }
  const none = noSamples();
  if (none !== null) {
    return none;
  }
  if (!hasSingleSamples.value) {
    return { text: NO_SINGLE_SAMPLES, event: null };
  }
  if (wholeTime.value === null) {
    return { text: WORDS["no-times"], event: null };
  }
  if (thread.value === null) {
    return { text: "No threads yet.", event: null };
  }
  return host.nothing.value === null ? null : { text: WORDS[host.nothing.value], event: null };
}

function ThreadChooser(): JSX.Element {
  const chosen = thread.value;
  const known = threads.value.slice(0, MOST_THREADS);
  const more = threads.value.length - known.length;
  const isKnown = chosen === null || known.some(({ tid }) => tid === chosen);
  return (
    <label class="choice thread-chooser">
      <span>Thread</span>
      <select
        value={chosen === null ? "" : String(chosen)}
        onChange={(event) => {
          shownThread.value = Number(event.currentTarget.value);
        }}
      >
        {!isKnown && <option value={String(chosen)}>{threadName(chosen)}</option>}
        {known.map(({ tid, name }) => (
          <option key={tid} value={String(tid)}>{`${name} ${tid}`}</option>
        ))}
        {more > 0 && <option disabled>{`${count(more)} lighter threads: choose them under Processes`}</option>}
      </select>
    </label>
  );
}

function Separator(): JSX.Element {
  return (
    <span class="crumb-separator" aria-hidden="true">
      ›
    </span>
  );
}

/** Where the timeline is a strip, which has no ruler. */
function Axis({ span }: { span: TimeSpan }): JSX.Element {
  const width = plotWidth.value;
  return (
    <div class="time-axis" aria-hidden="true">
      {ticksFor(span, width, textScale()).map(({ time, label }) => (
        <span key={time} style={{ left: `${xOf(time, span, width)}px` }}>
          {label}
        </span>
      ))}
    </div>
  );
}
