// When the time went: a ruler, all CPUs, and a track for each process, thread or CPU.
//
// The canvases lie behind everything; the scroller above them holds the headers of the tracks in sight and is otherwise
// transparent. The cursor is a slider as large as the plot: the one Tab stop for keys that move time.

import type { JSX, RefObject } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { info } from "../state/app.ts";
import { narrow } from "../state/width.ts";
import { usePlacedCard } from "../views/placed_card.ts";
import { TimeCrumbs } from "./crumbs.tsx";
import { followEscape } from "./escape.ts";
import { isLetGo, timeAction } from "./keys.ts";
import { focusByPointer, showsFocus } from "./pointed.ts";
import { TimelineMenu } from "./menu.tsx";
import { TimelineModel } from "./model.ts";
import type { TimelineForm } from "./stage.ts";
import { hasMoreThanShown, timeCursor, timeInSight, wholeTime } from "./state.ts";
import { Tracks, Twisty } from "./tracks.tsx";

interface TimelineProps {
  /** Tracks, or a strip of 28 px with all CPUs alone. */
  shown: "tracks" | "strip";
  /** Asked by the strip's disclosure button. */
  onShow: (shown: "tracks" | "strip") => void;
}

/** Nothing where samples have no time. */
export function Timeline({ shown, onShow }: TimelineProps): JSX.Element | null {
  const model = useMemo(() => new TimelineModel(), []);
  if (wholeTime.value === null) {
    return null;
  }
  const form = narrow.value ? "phone" : shown;
  // Another form has other elements.
  return <Form key={form} form={form} model={model} onShow={onShow} />;
}

interface FormProps {
  form: TimelineForm;
  model: TimelineModel;
  onShow: TimelineProps["onShow"];
}

function Form({ form, model, onShow }: FormProps): JSX.Element {
  const area = useRef<HTMLElement>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const tracks = useRef<HTMLCanvasElement>(null);
  const overlay = useRef<HTMLCanvasElement>(null);
  const cursor = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!area.current || !tracks.current || !overlay.current) {
      return;
    }
    const elements = { scroller: scroller.current, tracks: tracks.current, overlay: overlay.current };
    return model.start(area.current, elements, form, () => focusByPointer(cursor.current));
  }, [model, form]);
  useEffect(followEscape, []);
  return (
    <section
      class={`timeline timeline-${form}`}
      ref={area}
      aria-label="Timeline"
      onKeyDown={(event) => onKey(event, model)}
      onKeyUp={(event) => isLetGo(event) && model.settle()}
      onFocusOut={() => model.settle()}
    >
      <div class="timeline-plot">
        <canvas ref={tracks} aria-hidden="true" />
        <canvas ref={overlay} aria-hidden="true" />
        <Cursor model={model} cursor={cursor} />
      </div>
      {form === "tracks" && (
        <>
          <div class="timeline-head timeline-corner">
            <TimeCrumbs />
            <TimelineMenu model={model} onCollapse={() => onShow("strip")} />
          </div>
          <div class="timeline-head timeline-all">
            <strong>All CPUs</strong>
            {hasMoreThanShown.value ? <UnfilteredNotice /> : <CpuCount />}
          </div>
          <Tracks model={model} scroller={scroller} />
        </>
      )}
      {form === "strip" && (
        <button type="button" class="timeline-head timeline-open" aria-expanded={false} onClick={() => onShow("tracks")}>
          <Twisty isOpen={false} />
          <strong>All CPUs</strong> <span class="timeline-count">timeline</span>
        </button>
      )}
      {model.failure.value !== null && (
        <p class="timeline-failure" role="status">
          {model.failure.value}
        </p>
      )}
      <TimeTip model={model} />
    </section>
  );
}

function Cursor({ model, cursor }: { model: TimelineModel; cursor: RefObject<HTMLDivElement | null> }): JSX.Element {
  const { start, end } = timeInSight.value;
  return (
    <div
      ref={cursor}
      class="timeline-cursor"
      role="slider"
      tabIndex={0}
      {...showsFocus}
      aria-label="Time cursor"
      aria-valuemin={Math.round(start)}
      aria-valuemax={Math.round(end)}
      aria-valuenow={Math.round(timeCursor.value ?? start)}
      aria-valuetext={model.spoken.value}
    />
  );
}

function CpuCount(): JSX.Element | null {
  const cpus = info.value?.host.cpus ?? null;
  return cpus === null ? null : <span class="timeline-count">{cpus}</span>;
}

function UnfilteredNotice(): JSX.Element {
  return (
    <span
      class="timeline-count ink-warn"
      title="This link has its timeline by process and thread only: DSO filters and transforms do not affect it"
    >
      partly filtered
    </span>
  );
}

function TimeTip({ model }: { model: TimelineModel }): JSX.Element | null {
  const tip = model.tip.value;
  const element = usePlacedCard(tip);
  return tip === null ? null : (
    <div class="time-tip" ref={element} aria-hidden="true">
      {tip.text}
    </div>
  );
}

function onKey(event: KeyboardEvent, model: TimelineModel): void {
  const target = event.target instanceof Element ? event.target : null;
  const isButton = target?.closest("button, select, input, .popover") != null;
  const isLetter = /^[a-z]$/.test(event.key);
  if (event.defaultPrevented || (isButton && !isLetter)) {
    return;
  }
  const action = timeAction(event);
  if (action !== null) {
    event.preventDefault();
    model.act(action);
  } else if (event.key === "Enter") {
    event.preventDefault();
    model.enter();
  }
}
