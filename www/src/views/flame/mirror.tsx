// The flame graph for keyboard and screen reader: a tree beside the canvas that is not seen. It is the graph's one Tab
// stop and takes its keys.

import { useSignalEffect } from "@preact/signals";
import type { JSX, RefObject } from "preact";
import { useId, useMemo, useState } from "preact/hooks";
import type { Session } from "../../session/client.ts";
import type { Query } from "../../session/types.ts";
import { namesGeneration, query, selection, session, view } from "../../state/app.ts";
import { step } from "../../state/history.ts";
import { latest } from "../latest.ts";
import { flameAction } from "./keys.ts";
import type { MirrorData } from "./mirror_items.ts";
import { mirrorItems } from "./mirror_items.ts";
import type { FlameModel } from "./model.ts";

interface Question {
  session: Session;
  query: Query;
  callNode: number;
}

async function ask({ session, query, callNode }: Question): Promise<Omit<MirrorData, "whole"> | null> {
  const detail = await session.call("callNodeDetail", { query, callNode });
  if (detail === null) {
    return null;
  }
  const [children, siblings] = await Promise.all([
    session.call("callTreeChildren", { query, callNode }),
    detail.parent === null ? null : session.call("callTreeChildren", { query, callNode: detail.parent }),
  ]);
  return { detail, children, siblings };
}

export function Mirror({ model, tree }: { model: FlameModel; tree: RefObject<HTMLDivElement | null> }): JSX.Element {
  const [data, setData] = useState<Omit<MirrorData, "whole"> | null>(null);
  const questions = useMemo(() => latest<Question, Omit<MirrorData, "whole"> | null>({ ask, deliver: setData }), []);
  useSignalEffect(() => {
    void namesGeneration.value;
    const callNode = selection.value?.callNode ?? null;
    const asked = session.value;
    if (callNode === null || asked === null) {
      questions.drop();
      setData(null);
    } else {
      questions.ask({ session: asked, query: query.value, callNode });
    }
  });
  const prefix = useId();
  const items = data ? mirrorItems({ ...data, whole: model.laid.value?.graph.allTotal ?? 0 }) : [];
  const active = items.find((item) => item.selected);
  return (
    <>
      <div
        ref={tree}
        class="mirror"
        role="tree"
        tabIndex={0}
        aria-label={query.value.direction === "callees" ? "Flame graph of callees" : "Flame graph, inverted"}
        aria-activedescendant={active ? `${prefix}${active.key}` : undefined}
        onBlur={(event) => delete event.currentTarget.dataset["pointed"]}
        onKeyDown={(event) => {
          delete event.currentTarget.dataset["pointed"];
          if (event.key === "Alt") {
            model.card.pin();
            return;
          }
          const action = flameAction(event);
          if (action) {
            event.preventDefault();
            event.stopPropagation();
            model.act(action);
          }
        }}
      >
        {items.map((item) => (
          <div
            key={item.key}
            id={`${prefix}${item.key}`}
            role="treeitem"
            aria-label={item.label}
            aria-level={item.level}
            aria-posinset={item.posInSet || undefined}
            aria-setsize={item.setSize || undefined}
            aria-expanded={item.expanded ?? undefined}
            aria-selected={item.selected}
          />
        ))}
      </div>
      <button type="button" class="mirror-button" onClick={() => step(() => (view.value = "tree"))}>
        Open as call tree
      </button>
    </>
  );
}
