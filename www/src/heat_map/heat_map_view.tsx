// Every second a column, every 20 ms of it a cell, or less of both where less time is in sight: when the machine was busy.
// What is chosen of it is the range of all views; the flame graph below follows.

import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { compareWithRest } from "../compare/state.ts";
import { query } from "../state/app.ts";
import { followEscape } from "../timeline/escape.ts";
import { NO_SINGLE_SAMPLES } from "../timeline/words.ts";
import { focusByPointer } from "../timeline/pointed.ts";
import { isLetGo, timeAction } from "../timeline/keys.ts";
import { hasSingleSamples, rangeShown, wholeTime } from "../timeline/state.ts";
import { EmptyView } from "../views/empty_view.tsx";
import { FlameGraphView } from "../views/index.ts";
import { HeatCard } from "./card.tsx";
import { CELL_HEIGHT, EDGE } from "./grid.ts";
import { HeatMirror } from "./mirror.tsx";
import { HeatModel } from "./model.ts";
import { axisWords, cellSpan, fifthsOf, isOffCpu, sumWords } from "./words.ts";

export function HeatMapView(): JSX.Element {
  if (!hasSingleSamples.value) {
    return <EmptyView words={{ text: NO_SINGLE_SAMPLES, event: null }} />;
  }
  if (wholeTime.value === null) {
    return <EmptyView words={{ text: "The samples have no timestamps, so there is no heat map.", event: null }} />;
  }
  return (
    <div class="heat-view">
      <HeatMap />
      <FlameGraphView />
    </div>
  );
}

function HeatMap(): JSX.Element {
  const model = useMemo(() => new HeatModel(), []);
  const area = useRef<HTMLDivElement>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const cells = useRef<HTMLCanvasElement>(null);
  const chosen = useRef<HTMLCanvasElement>(null);
  const side = useRef<HTMLCanvasElement>(null);
  const mirror = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!area.current || !scroller.current || !cells.current || !chosen.current || !side.current) {
      return;
    }
    const elements = { scroller: scroller.current, cells: cells.current, chosen: chosen.current, side: side.current };
    return model.start(area.current, elements, () => focusByPointer(mirror.current));
  }, [model]);
  useEffect(followEscape, []);
  const grid = model.grid.value;
  const height = grid.rows * CELL_HEIGHT;
  return (
    <>
      <section
        class="heat-map"
        aria-label="Heat map"
        onKeyDown={(event) => onKey(event, model)}
        onKeyUp={(event) => isLetGo(event) && model.settle()}
      >
        <div class="heat-plot" ref={area}>
          <ol class="heat-rows" aria-hidden="true" style={{ height: `${height}px` }}>
            {fifthsOf(grid.period).map((words, fifths) => (
              <li key={words} style={{ top: `${(fifths / 5) * height}px` }}>
                {words}
              </li>
            ))}
          </ol>
          <div
            class={grid.columns * grid.cell > model.width.value ? "heat-scroller overflowing" : "heat-scroller"}
            ref={scroller}
          >
            <div
              class="heat-content"
              style={{ width: `${grid.columns * grid.cell + 2 * EDGE}px`, height: `calc(${height + EDGE}px + 1.5rem)` }}
            >
              <div class="heat-sticky">
                <canvas ref={cells} aria-hidden="true" />
                <canvas ref={chosen} aria-hidden="true" />
              </div>
            </div>
            <HeatMirror model={model} grid={mirror} />
          </div>
          <div class="heat-side" style={{ height: `calc(${height}px + 1.5rem)` }}>
            <canvas ref={side} aria-hidden="true" />
            <span class="heat-side-totals">all columns</span>
            <span class="heat-side-scale">{isOffCpu() ? "threads" : "CPUs"}</span>
          </div>
        </div>
        <p class="heat-axis">{axisWords(grid).replace(/^a/, "A")}</p>
      </section>
      <RangeSummary model={model} />
      <HeatCard model={model} />
    </>
  );
}

/** What the range comes to, or all of it where there is none. */
function RangeSummary({ model }: { model: HeatModel }): JSX.Element {
  const range = rangeShown.value;
  const whole = wholeTime.value ?? { start: 0, end: 1 };
  const [ofRange, ofAll] = [model.chosen.value, model.all.value];
  const words =
    model.failure.value ?? (range === null ? ofAll && sumWords(whole, ofAll, null) : ofRange && sumWords(range, ofRange, ofAll));
  return (
    <div class="heat-head">
      <p role="status">
        <strong>{range === null ? "Whole profile" : cellSpan(range, model.grid.value)}</strong> <span>{words}</span>
      </p>
      {query.value.range !== null && (
        <button type="button" onClick={compareWithRest}>
          Compare with the rest
        </button>
      )}
    </div>
  );
}

function onKey(event: KeyboardEvent, model: HeatModel): void {
  if (event.defaultPrevented) {
    return;
  }
  const action = timeAction(event);
  if (action !== null) {
    event.preventDefault();
    model.act(action);
  }
}
