// The compared graph for keyboard and screen reader: a tree beside the canvas that is not seen.

import { useSignalEffect } from "@preact/signals";
import type { JSX, RefObject } from "preact";
import { useId, useMemo, useState } from "preact/hooks";
import type { Session } from "../session/client.ts";
import type { ComparedDetail, CompareRequest } from "../session/types.ts";
import { ALL } from "../session/types.ts";
import { event, namesGeneration, session } from "../state/app.ts";
import { singleKeys } from "../state/single_keys.ts";
import { flameAction } from "../views/flame/keys.ts";
import type { FlameModel } from "../views/flame/model.ts";
import { latest } from "../views/latest.ts";
import { comparedItems } from "./mirror_items.ts";
import { comparedSelection, compareView, request } from "./state.ts";

interface Question {
  session: Session;
  request: CompareRequest;
  view: typeof compareView.value;
  callNode: number;
}

export function ComparedMirror({ model, tree }: { model: FlameModel; tree: RefObject<HTMLDivElement | null> }): JSX.Element {
  const [detail, setDetail] = useState<ComparedDetail | null>(null);
  const questions = useMemo(
    () => latest<Question, ComparedDetail | null>({
      ask: ({ session, ...question }) => session.call("comparedDetail", question),
      deliver: setDetail,
      fail: () => setDetail(null),
    }),
    [],
  );
  useSignalEffect(() => {
    void namesGeneration.value;
    const callNode = comparedSelection.value?.callNode ?? model.laid.value?.root ?? ALL;
    const [asked, comparedRequest, view] = [session.value, request.value, compareView.value];
    if (asked === null || comparedRequest === null || model.laid.value === null) {
      questions.drop();
      setDetail(null);
    } else {
      questions.ask({ session: asked, request: comparedRequest, view, callNode });
    }
  });
  const prefix = useId();
  const isSelected = (comparedSelection.value?.callNode ?? null) !== null;
  const how = { basis: compareView.value.basis, event: event.value?.name ?? "" };
  const items = detail === null ? [] : comparedItems(detail, how, isSelected);
  const active = items.find((item) => item.selected);
  return (
    <div
      ref={tree}
      class="mirror"
      role="tree"
      tabIndex={0}
      aria-label="Flame graph of both profiles"
      aria-activedescendant={active ? `${prefix}${active.key}` : undefined}
      onBlur={(left) => delete left.currentTarget.dataset["pointed"]}
      onKeyDown={(pressed) => {
        delete pressed.currentTarget.dataset["pointed"];
        if (pressed.key === "Alt") {
          model.card.pin();
          return;
        }
        const action = flameAction(pressed, singleKeys.value);
        // Esc with nothing to close here is for what lies outside.
        if (action && !(action.kind === "clear" && !model.hasSomethingToClear)) {
          pressed.preventDefault();
          pressed.stopPropagation();
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
