// The headers of the tracks that are in sight, as rows of a tree grid: open, closed, selected, hidden or empty. Each row
// has the two ends of the range as sliders, which stand over its part of the plot for those who do not see it.

import { useSignal } from "@preact/signals";
import type { JSX, RefObject } from "preact";
import { useEffect, useLayoutEffect } from "preact/hooks";
import { query } from "../state/app.ts";
import { count, countSamples } from "../state/format.ts";
import { themeGeneration } from "../state/theme.ts";
import { rowWindow } from "../views/rows/window.ts";
import { textScale } from "../views/text_scale.ts";
import type { TimelineModel } from "./model.ts";
import type { Row } from "./rows.ts";
import { trackSizes } from "./scene.ts";
import { hasSingleSamples, rangeShown, wholeTime } from "./state.ts";

const LEAP = 10;

export function Tracks({ model, scroller }: { model: TimelineModel; scroller: RefObject<HTMLDivElement | null> }): JSX.Element {
  const rows = model.rows.value;
  const scrollTop = useSignal(0);
  const height = useSignal(0);
  // Counts changes of the text's size too.
  void themeGeneration.value;
  const rowHeight = trackSizes(textScale()).row;
  useLayoutEffect(() => {
    const el = scroller.current;
    if (!el) {
      return;
    }
    const resizes = new ResizeObserver(() => {
      height.value = el.clientHeight;
    });
    resizes.observe(el);
    return () => resizes.disconnect();
  }, []);
  const leftOut = model.answer.value?.leftOut ?? 0;
  const all = rows.length + (leftOut > 0 ? 1 : 0);
  const size = { count: rows.length, rowHeight, height: height.value };
  const [from, to] = rowWindow(scrollTop.value, size);
  // Keys move the focus with the row that they are on.
  useEffect(() => {
    if (scroller.current?.contains(document.activeElement) && document.activeElement?.getAttribute("role") === "row") {
      scroller.current.querySelector<HTMLElement>('[role="row"][tabindex="0"]')?.focus({ preventScroll: true });
    }
  }, [model.activeRow.value, from, to]);
  return (
    <div
      ref={scroller}
      class="timeline-scroller"
      onScroll={() => {
        scrollTop.value = scroller.current?.scrollTop ?? 0;
      }}
    >
      <div
        class="timeline-tracks"
        role="treegrid"
        aria-label="Tracks"
        aria-rowcount={rows.length}
        style={{ height: `${all * rowHeight}px` }}
      >
        {rows.slice(from, to).map((row, index) => (
          <TrackRow key={row.key} row={row} place={from + index} top={(from + index) * rowHeight} model={model} />
        ))}
      </div>
      {leftOut > 0 && <p class="timeline-head timeline-more">{count(leftOut)} lighter tracks not shown</p>}
    </div>
  );
}

interface TrackRowProps {
  row: Row;
  place: number;
  top: number;
  model: TimelineModel;
}

function TrackRow({ row, place, top, model }: TrackRowProps): JSX.Element {
  // Where no row is the one that keys are on, the first is the Tab stop.
  const isActive = Math.max(0, model.activeRow.value) === place;
  const selected = isSelected(row);
  const states = [selected ? "selected" : "", row.track === null ? "empty" : "", isActive ? "active" : ""];
  return (
    <div
      class={`timeline-row ${states.filter(Boolean).join(" ")}`}
      role="row"
      aria-level={row.level + 1}
      aria-rowindex={place + 1}
      aria-selected={selected}
      {...(row.opened === null ? {} : { "aria-expanded": row.opened === "open" })}
      tabIndex={isActive ? 0 : -1}
      style={{ transform: `translateY(${top}px)` }}
      onFocus={() => {
        model.activeRow.value = place;
      }}
      onKeyDown={(event) => onRowKey(event, row, place, model)}
    >
      <div
        class={`timeline-head timeline-name level-${Math.min(1, row.level)}`}
        role="rowheader"
        title={`${row.label}, ${row.track === null ? "no samples" : countSamples(row.samples)}`}
        onDblClick={() => model.choose(row)}
      >
        {row.opened === null ? (
          <span class="twisty-room" />
        ) : (
          <button
            type="button"
            class="timeline-twisty"
            tabIndex={-1}
            aria-label={`${row.opened === "open" ? "Collapse" : "Expand"} ${row.label}`}
            onClick={() => model.setOpened(row, row.opened === "open" ? "closed" : "open")}
          >
            <Twisty isOpen={row.opened === "open"} />
          </button>
        )}
        <span class="timeline-label">{row.label}</span>
        <span class="timeline-count">{row.sub}</span>
      </div>
      {hasSingleSamples.value && (
        <div role="gridcell" class="visually-hidden">
          <Edge edge="start" row={row} model={model} isActive={isActive} />
          <Edge edge="end" row={row} model={model} isActive={isActive} />
        </div>
      )}
    </div>
  );
}

/** A shape, not a border: forced colours paint all sides of a border. */
export function Twisty({ isOpen }: { isOpen: boolean }): JSX.Element {
  return (
    <svg class="timeline-mark" width="8" height="8" viewBox="0 0 8 8" aria-hidden="true">
      <path d={isOpen ? "M0 1.5h8L4 6.5Z" : "M1.5 0v8L6.5 4Z"} fill="currentColor" />
    </svg>
  );
}

interface EdgeProps {
  edge: "start" | "end";
  row: Row;
  model: TimelineModel;
  isActive: boolean;
}

function Edge({ edge, row, model, isActive }: EdgeProps): JSX.Element {
  const whole = wholeTime.value ?? { start: 0, end: 1 };
  const range = rangeShown.value ?? whole;
  return (
    <div
      role="slider"
      tabIndex={isActive ? 0 : -1}
      aria-label={`${row.label}, ${edge === "start" ? "start" : "end"} of the range`}
      aria-valuemin={edge === "start" ? whole.start : range.start}
      aria-valuemax={edge === "start" ? range.end : whole.end}
      aria-valuenow={range[edge]}
      aria-valuetext={model.timeWords(range[edge])}
      onKeyDown={(event) => onEdgeKey(event, edge, model)}
    />
  );
}

function isSelected(row: Row): boolean {
  const { processes, threads, cpus } = query.value;
  const has = (chosen: readonly number[], one: number | null): boolean => one !== null && chosen.includes(one);
  return has(threads, row.tid) || (row.tid === null && has(processes, row.pid)) || has(cpus, row.cpu);
}

function onRowKey(event: KeyboardEvent, row: Row, place: number, model: TimelineModel): void {
  if (event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) {
    return;
  }
  switch (event.key) {
    case "ArrowUp":
      model.toRow(Math.max(0, place - 1));
      break;
    case "ArrowDown":
      model.toRow(place + 1);
      break;
    case "Home":
      model.toRow(0);
      break;
    case "End":
      model.toRow(model.rows.peek().length - 1);
      break;
    case "ArrowRight":
      model.setOpened(row, "open");
      break;
    case "ArrowLeft":
      model.setOpened(row, "closed");
      break;
    case "Enter":
    case " ":
      model.choose(row);
      break;
    case "Delete":
      model.hide(row);
      break;
    default:
      return;
  }
  event.preventDefault();
  event.stopPropagation();
}

const EDGE_STEPS: Record<string, number> = {
  ArrowLeft: -1,
  ArrowDown: -1,
  ArrowRight: 1,
  ArrowUp: 1,
  PageDown: -LEAP,
  PageUp: LEAP,
  Home: -Infinity,
  End: Infinity,
};

function onEdgeKey(event: KeyboardEvent, edge: "start" | "end", model: TimelineModel): void {
  const steps = Object.hasOwn(EDGE_STEPS, event.key) ? EDGE_STEPS[event.key] : undefined;
  if (steps === undefined || event.ctrlKey || event.metaKey || event.altKey) {
    return;
  }
  event.preventDefault();
  event.stopPropagation();
  model.moveEdge(edge, steps);
}
