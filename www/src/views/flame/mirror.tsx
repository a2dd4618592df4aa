// A graph for keyboard and screen reader: a tree beside the canvas that is not seen. It is the graph's one Tab stop and
// takes its keys.

import type { JSX, RefObject } from "preact";
import { useId } from "preact/hooks";
import { singleKeys } from "../../state/single_keys.ts";
import { showsFocus } from "../../timeline/pointed.ts";
import { flameAction } from "./keys.ts";
import type { MirrorItem } from "./mirror_items.ts";
import type { FlameModel } from "./model.ts";

interface Props {
  model: FlameModel;
  tree: RefObject<HTMLDivElement | null>;
  /** What the tree is called. */
  label: string;
  items: readonly MirrorItem[];
}

export function Mirror({ model, tree, label, items }: Props): JSX.Element {
  const prefix = useId();
  const active = items.find((item) => item.selected);
  return (
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
      onBlur={showsFocus.onBlur}
      onKeyDown={(event) => {
        showsFocus.onKeyDown(event);
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
  );
}
