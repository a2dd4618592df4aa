// The flame graph: breadcrumb and legend, the canvases, and the tree that stands for them.

import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { ALL } from "../session/types.ts";
import { query } from "../state/app.ts";
import { emptyWords } from "./empty.ts";
import { EmptyView } from "./empty_view.tsx";
import { Breadcrumb, rootName } from "./flame/breadcrumb.tsx";
import { HoverCardView } from "./flame/hover_card.tsx";
import { Minimap } from "./flame/minimap.tsx";
import { Mirror } from "./flame/mirror.tsx";
import { FlameModel } from "./flame/model.ts";

export function FlameGraphView(): JSX.Element {
  const model = useMemo(() => new FlameModel(), []);
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
    const elements = {
      scroller: scroller.current,
      content: content.current,
      frames: frames.current,
      overlay: overlay.current,
    };
    return model.start(area.current, elements, () => {
      const el = tree.current;
      if (el && document.activeElement !== el) {
        // Focus that a pointer brought shows no ring until a key is pressed.
        el.dataset["pointed"] = "";
        el.focus({ preventScroll: true });
      }
    });
  }, [model]);
  useEffect(() => {
    const pin = (event: KeyboardEvent): void => {
      if (event.key === "Alt" && model.card.content.peek()) {
        event.preventDefault();
        model.card.pin();
      } else if (event.key === "Escape" && model.card.content.peek()?.pinned) {
        event.stopPropagation();
        model.card.close();
      }
    };
    addEventListener("keydown", pin, { capture: true });
    return () => removeEventListener("keydown", pin, { capture: true });
  }, [model]);
  const laid = model.laid.value;
  const bases = {
    all: laid?.graph.allTotal ?? 0,
    allName: "what is shown",
    root: laid?.graph.rootTotal ?? 0,
    rootName: laid === null || laid.root === ALL ? null : rootName(laid),
  };
  return (
    <section class="flame-view" ref={area} aria-label="Flame graph">
      <Breadcrumb laid={laid} onZoom={model.host.zoomTo} />
      <EmptyView words={emptyWords(laid, model.failure.value)} />
      <Minimap model={model} />
      <div class="flame-viewport">
        <Mirror
          model={model}
          tree={tree}
          label={query.value.direction === "callees" ? "Flame graph of callees" : "Flame graph, inverted"}
        />
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
