// One thread's stacks along time: which thread and when, the time axis, the graph.

import { useSignal, useSignalEffect } from "@preact/signals";
import type { JSX } from "preact";
import { useMemo, useRef } from "preact/hooks";
import type { Selection } from "../../state/app.ts";
import { query, selection, shownThread } from "../../state/app.ts";
import { threadNames, threads } from "../../state/event_tasks.ts";
import { count } from "../../state/format.ts";
import { hasSingleSamples } from "../../timeline/state.ts";
import { NO_SINGLE_SAMPLES } from "../../timeline/words.ts";
import { noSamples } from "../empty.ts";
import { EmptyView } from "../empty_view.tsx";
import { GraphPane } from "../flame/graph_pane.tsx";
import { Legend } from "../flame/legend.tsx";
import { Minimap } from "../flame/minimap.tsx";
import { FlameModel } from "../flame/model.ts";
import { useTreeNeighbours } from "../flame/tree_mirror.ts";
import { findSelectedFunction } from "../find_function.ts";
import { nothing, thread, timeAt, timeHost, whole } from "./time_host.ts";
import { timeMirrorItems } from "./time_mirror.ts";
import { textScale } from "../text_scale.ts";
import { ticks, timeSpan } from "./time_words.ts";

/** A list of thousands would keep the page from answering; others are chosen by key, or in the context bar. */
const MOST_THREADS = 200;
/** CSS pixels between two times of the axis, at least. */
const TICK_PX = 110;

const WORDS = {
  "no-times": "The samples have no timestamps.",
  "no-thread": "This thread is not in the recording. Choose another one.",
  "no-samples": "No samples of this thread here. Choose another thread or clear the filters.",
} as const;

export function TimeOrderView(): JSX.Element {
  const own = useSignal<Selection | null>(null);
  const isInverted = query.value.direction === "inverted";
  const model = useMemo(() => new FlameModel(timeHost(isInverted ? own : selection)), [isInverted]);
  // In another tree a call has another number, its function has not.
  useSignalEffect(() => {
    const functionId = own.value?.functionId ?? null;
    if (functionId !== null && selection.peek()?.functionId !== functionId) {
      selection.value = { callNode: null, functionId };
      findSelectedFunction();
    }
  });
  const around = useTreeNeighbours(model);
  const area = useRef<HTMLElement>(null);
  const laid = model.laid.value;
  const span = whole.value;
  const { left, span: part } = model.view.value;
  const seen = span && { start: timeAt(span, left), end: timeAt(span, left + part) };
  const isZoomed = part < 1;
  const items = laid !== null && span !== null ? timeMirrorItems(laid, model.selectedBox.value, span, around) : [];
  const bases = { all: laid?.graph.allTotal ?? 0, allName: "what is shown in all threads", root: 0, rootName: null };
  return (
    <section class="flame-view time-order" ref={area} aria-label="Time order">
      <div class="breadcrumb-row">
        <nav class="breadcrumb" aria-label="Zoom">
          <ThreadChooser />
          {isZoomed && (
            <>
              <span class="crumb-separator" aria-hidden="true">
                ›
              </span>
              <button type="button" class="crumb" onClick={() => model.reset()}>
                all
              </button>
            </>
          )}
          <span class="crumb-separator" aria-hidden="true">
            ›
          </span>
          <strong aria-current="location">{seen === null ? "no timestamps" : timeSpan(seen)}</strong>
        </nav>
        <Legend />
      </div>
      <EmptyView words={words(model.failure.value)} />
      <Minimap model={model} />
      {seen === null ? null : <Axis start={seen.start} end={seen.end} width={model.width.value} />}
      <GraphPane model={model} area={area} label="Time order" items={items} bases={bases} />
    </section>
  );
}

function words(failure: string | null): { text: string; event: null } | ReturnType<typeof noSamples> {
  if (failure !== null) {
    return { text: failure, event: null };
  }
  const none = noSamples();
  if (none !== null) {
    return none;
  }
  if (!hasSingleSamples.value) {
    return { text: NO_SINGLE_SAMPLES, event: null };
  }
  if (whole.value === null) {
    return { text: WORDS["no-times"], event: null };
  }
  if (thread.value === null) {
    return { text: "No threads yet.", event: null };
  }
  return nothing.value === null ? null : { text: WORDS[nothing.value], event: null };
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
        {!isKnown && <option value={String(chosen)}>{`${threadNames.value.get(chosen) ?? ""} ${chosen}`.trim()}</option>}
        {known.map(({ tid, name }) => (
          <option key={tid} value={String(tid)}>{`${name} ${tid}`}</option>
        ))}
        {more > 0 && <option disabled>{`${count(more)} lighter threads: choose them under Processes`}</option>}
      </select>
    </label>
  );
}

function Axis({ start, end, width }: { start: number; end: number; width: number }): JSX.Element {
  const all = end > start ? ticks(start, end, width / (TICK_PX * textScale())) : [];
  return (
    <div class="time-axis" aria-hidden="true" style={{ width: `${width}px` }}>
      {all.map(({ at, label }) => (
        <span key={at} style={{ left: `${((at - start) / (end - start)) * width}px` }}>
          {label}
        </span>
      ))}
    </div>
  );
}
