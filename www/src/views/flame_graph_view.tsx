// The flame graph: breadcrumb and legend, the map while it is zoomed, the graph.

import type { JSX } from "preact";
import { useMemo, useRef } from "preact/hooks";
import { query, view } from "../state/app.ts";
import { step } from "../state/history.ts";
import { emptyWords } from "./empty.ts";
import { EmptyView } from "./empty_view.tsx";
import { Breadcrumb } from "./flame/breadcrumb.tsx";
import { GraphPane } from "./flame/graph_pane.tsx";
import { treeBases } from "./flame/hover_card.tsx";
import { Minimap } from "./flame/minimap.tsx";
import { FlameModel } from "./flame/model.ts";
import { useTreeMirror } from "./flame/tree_mirror.ts";

export function FlameGraphView(): JSX.Element {
  const model = useMemo(() => new FlameModel(), []);
  const area = useRef<HTMLElement>(null);
  const items = useTreeMirror(model);
  const laid = model.laid.value;
  return (
    <section class="flame-view" ref={area} aria-label="Flame graph">
      <Breadcrumb
        laid={laid}
        onZoom={model.host.zoomTo}
        // Of an inverted graph the path would lead to callers.
        onSelect={query.value.direction === "callees" ? model.selectBox : undefined}
      />
      <EmptyView words={emptyWords(laid, model.failure.value)} />
      <Minimap model={model} />
      <GraphPane
        model={model}
        area={area}
        label={query.value.direction === "callees" ? "Flame graph" : "Flame graph, inverted"}
        items={items}
        bases={treeBases(laid)}
      >
        <button type="button" class="mirror-button" onClick={() => step(() => (view.value = "tree"))}>
          Show in call tree
        </button>
      </GraphPane>
    </section>
  );
}
