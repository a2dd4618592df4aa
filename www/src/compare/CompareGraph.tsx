// Both profiles as one flame graph: the width of one side, coloured by how much the other differs.

import type { JSX } from "preact";
import { useMemo, useRef } from "preact/hooks";
import { Crumbs } from "../views/flame/breadcrumb.tsx";
import { GraphPane } from "../views/flame/graph_pane.tsx";
import { treeBases } from "../views/flame/hover_card.tsx";
import { Minimap } from "../views/flame/minimap.tsx";
import { FlameModel } from "../views/flame/model.ts";
import { COMPARED_GRAPH } from "./graph_host.ts";
import { comparing, sideWords, request, comparedSides } from "./state.ts";
import { useComparedMirror } from "./tree_mirror.ts";
import { legendEnds } from "./words.ts";

export function CompareGraph(): JSX.Element {
  const model = useMemo(() => new FlameModel(COMPARED_GRAPH), []);
  const area = useRef<HTMLElement>(null);
  const items = useComparedMirror(model);
  const laid = model.laid.value;
  return (
    <section class="flame-view compare-graph" ref={area} aria-label="Flame graph of both profiles">
      <div class="breadcrumb-row">
        <nav class="breadcrumb" aria-label="Zoom">
          <Crumbs laid={laid} onZoom={model.host.zoomTo} />
        </nav>
        <p class="ink-mute compare-how">{howShown()}</p>
        <Legend />
      </div>
      <Empty failure={model.failure.value} />
      <Minimap model={model} />
      <GraphPane model={model} area={area} label="Flame graph of both profiles" items={items} bases={treeBases(laid)} />
    </section>
  );
}

/** "Width: share (after). Colour: change in points" */
function howShown(): string {
  const { basis = "share", width = "after" } = comparing.value ?? {};
  const what = { share: "share", "per-second": "weight per second", raw: "weight" }[basis];
  const of = width === "both" ? "average; hatched if only in one" : width;
  return `Width: ${what} (${of}). Colour: ${basis === "share" ? "change in points" : "ratio"}`;
}

function Empty({ failure }: { failure: string | null }): JSX.Element | null {
  const sides = comparedSides.value;
  const empty = sides === null ? [] : (sideWords.value ?? []).filter((_, side) => sides[side]?.samples === 0);
  const text =
    failure ??
    (request.value === null
      ? "The profiles do not share this event. Choose another one under Event."
      : empty.length === 0
        ? null
        : `${empty.map(({ name }) => name).join(" and ")}: no samples of this event.`);
  return text === null ? null : (
    <p class="view-empty" role="status">
      {text}
    </p>
  );
}

const STEPS = ["less-3", "less-2", "less-1", "same", "more-1", "more-2", "more-3"] as const;

function Legend(): JSX.Element {
  const { basis = "share", width = "after" } = comparing.value ?? {};
  const [less, more] = legendEnds(basis);
  return (
    <ul class="frame-legend change-legend" aria-label="Colours">
      <li>
        {less}
        <span class="change-scale" aria-hidden="true">
          {STEPS.map((step) => (
            <span key={step} class={`step-${step}`} />
          ))}
        </span>
        {more}
      </li>
      <li>
        <span class="only-swatch only-after" aria-hidden="true" />+ only after{width === "before" && " (in the table)"}
      </li>
      <li>
        <span class="only-swatch only-before" aria-hidden="true" />− only before{width === "after" && " (in the table)"}
      </li>
    </ul>
  );
}
