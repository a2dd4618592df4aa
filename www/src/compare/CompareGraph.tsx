// Both profiles as one flame graph: the width of one side, coloured by how much the other differs.

import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { ALL } from "../session/types.ts";
import { Crumbs, rootName } from "../views/flame/breadcrumb.tsx";
import { HoverCardView } from "../views/flame/hover_card.tsx";
import { Minimap } from "../views/flame/minimap.tsx";
import { FlameModel } from "../views/flame/model.ts";
import { COMPARED_GRAPH } from "./graph_host.ts";
import { ComparedMirror } from "./Mirror.tsx";
import { comparing, sideWords, request, comparedSides } from "./state.ts";
import { legendEnds } from "./words.ts";

export function CompareGraph(): JSX.Element {
  const model = useMemo(() => new FlameModel(COMPARED_GRAPH), []);
  const area = useRef<HTMLElement>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const frames = useRef<HTMLCanvasElement>(null);
  const overlay = useRef<HTMLCanvasElement>(null);
  const tree = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!area.current || !scroller.current || !content.current || !frames.current || !overlay.current) {
      return;
    }
    const elements = { scroller: scroller.current, content: content.current, frames: frames.current, overlay: overlay.current };
    return model.start(area.current, elements, () => {
      const el = tree.current;
      if (el && document.activeElement !== el) {
        // Focus that a pointer brought shows no ring until a key is pressed.
        el.dataset["pointed"] = "";
        el.focus({ preventScroll: true });
      }
    });
  }, [model]);
  const laid = model.laid.value;
  const bases = {
    all: laid?.graph.allTotal ?? 0,
    allName: "what is shown",
    root: laid?.graph.rootTotal ?? 0,
    rootName: laid === null || laid.root === ALL ? null : rootName(laid),
  };
  return (
    <section class="flame-view compare-graph" ref={area} aria-label="Flame graph of both profiles">
      <div class="breadcrumb-row">
        <nav class="breadcrumb" aria-label="Zoom"><Crumbs laid={laid} onZoom={model.host.zoomTo} /></nav>
        <p class="ink-mute compare-how">{howShown()}</p>
        <Legend />
      </div>
      <Empty failure={model.failure.value} />
      <Minimap model={model} />
      <div class="flame-viewport">
        <ComparedMirror model={model} tree={tree} />
        <div class="flame-scroller" ref={scroller}>
          <div class="flame-content" ref={content}>
            <div class="flame-sticky">
              <canvas ref={frames} aria-hidden="true" />
              <canvas ref={overlay} aria-hidden="true" />
            </div>
          </div>
        </div>
      </div>
      <HoverCardView card={model.card} bases={bases} />
    </section>
  );
}

/** "width: share after. Colour: change in points" */
function howShown(): string {
  const { basis = "share", width = "after" } = comparing.value ?? {};
  const what = { share: "share", "per-second": "weight per second", raw: "weight" }[basis];
  const of = width === "both" ? "mean of both, hatched where one lacks it" : width;
  return `width: ${what} ${of}. Colour: ${basis === "share" ? "change in points" : "times as much"}`;
}

function Empty({ failure }: { failure: string | null }): JSX.Element | null {
  const sides = comparedSides.value;
  const empty = sides === null ? [] : (sideWords.value ?? []).filter((_, side) => sides[side]?.samples === 0);
  const text = failure ??
    (request.value === null ? "The profiles have no event of this name in common. Choose another under Event." : empty.length === 0
      ? null : `${empty.map(({ name }) => name).join(" and ")}: no samples of this event.`);
  return text === null ? null : <p class="view-empty" role="status">{text}</p>;
}

const STEPS = ["less-3", "less-2", "less-1", "same", "more-1", "more-2", "more-3"] as const;

function Legend(): JSX.Element {
  const { basis = "share", width = "after" } = comparing.value ?? {};
  const [less, more] = legendEnds(basis);
  return (
    <ul class="frame-legend change-legend" aria-label="Colours">
      <li>
        {less}
        <span class="change-scale" aria-hidden="true">{STEPS.map((step) => <span key={step} class={`step-${step}`} />)}</span>
        {more}
      </li>
      <li><span class="only-swatch only-after" aria-hidden="true" />+ only after{width === "before" && " (listed)"}</li>
      <li><span class="only-swatch only-before" aria-hidden="true" />− only before{width === "after" && " (listed)"}</li>
    </ul>
  );
}
