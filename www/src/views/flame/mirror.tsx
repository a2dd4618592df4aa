// The flame graph for keyboard and screen reader: a tree beside the canvas that is not seen. It is the graph's one Tab
// stop and takes its keys.

import { useSignalEffect } from "@preact/signals";
import type { JSX, RefObject } from "preact";
import { useId, useMemo, useState } from "preact/hooks";
import type { Session } from "../../session/client.ts";
import type { Query } from "../../session/types.ts";
import { ALL } from "../../session/types.ts";
import { dsos, namesGeneration, session, view } from "../../state/app.ts";
import { step } from "../../state/history.ts";
import { singleKeys } from "../../state/layout.ts";
import { latest } from "../latest.ts";
import { flameAction } from "./keys.ts";
import type { MirrorData } from "./mirror_items.ts";
import { mirrorItems } from "./mirror_items.ts";
import { PAGE_GRAPH } from "./host.ts";
import type { FlameModel } from "./model.ts";

interface Question {
  session: Session;
  query: Query;
  callNode: number;
}

type Around = Pick<MirrorData, "path" | "siblings" | "children">;

async function ask({ session, query, callNode }: Question): Promise<Around | null> {
  const path = await session.call("callTreePath", { query, callNode });
  const parent = path.callNode.at(-2);
  const [children, siblings] = await Promise.all([
    session.call("callTreeChildren", { query, callNode }),
    parent === undefined ? null : session.call("callTreeChildren", { query, callNode: parent }),
  ]);
  return { path, children, siblings };
}

interface Props {
  model: FlameModel;
  tree: RefObject<HTMLDivElement | null>;
  /** What the tree is called. */
  label: string;
}

export function Mirror({ model, tree, label }: Props): JSX.Element {
  const [data, setData] = useState<Around | null>(null);
  const questions = useMemo(() => latest<Question, Around | null>({ ask, deliver: setData, fail: () => setData(null) }), []);
  const { host } = model;
  useSignalEffect(() => {
    void namesGeneration.value;
    const several = model.several.value;
    const callNode = several?.parent ?? host.selection.value?.callNode ?? model.laid.value?.root ?? ALL;
    const query = host.query.value;
    const asked = session.value;
    if (asked === null || query === null || model.laid.value === null) {
      questions.drop();
      setData(null);
    } else {
      questions.ask({ session: asked, query, callNode });
    }
  });
  const prefix = useId();
  const statuses = new Map(dsos.value.map((row) => [row.id, row.status]));
  const several = model.several.value?.words ?? null;
  const selected = several !== null || (host.selection.value?.callNode ?? null) !== null;
  const whole = model.laid.value?.graph.allTotal ?? 0;
  const items = data
    ? mirrorItems({ ...data, several, selected, whole, statusOf: (dso) => statuses.get(dso) ?? null })
    : [];
  const active = items.find((item) => item.selected);
  return (
    <>
      <div
        ref={tree}
        class="mirror"
        role="tree"
        tabIndex={0}
        aria-label={label}
        aria-activedescendant={active ? `${prefix}${active.key}` : undefined}
        onContextMenu={(event) => {
          event.preventDefault();
          model.openMenu();
        }}
        onBlur={(event) => delete event.currentTarget.dataset["pointed"]}
        onKeyDown={(event) => {
          delete event.currentTarget.dataset["pointed"];
          if (event.key === "Alt") {
            model.card.pin();
            return;
          }
          const action = flameAction(event, singleKeys.value);
          // Esc with nothing to close here is for what lies outside.
          if (action && !(action.kind === "clear" && !model.hasSomethingToClear)) {
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
      {host === PAGE_GRAPH && (
        <button type="button" class="mirror-button" onClick={() => step(() => (view.value = "tree"))}>
          Open as call tree
        </button>
      )}
    </>
  );
}
