// What assistive technology is told of the compared graph: asked for whenever the selection is another one.

import { useSignalEffect } from "@preact/signals";
import { useState } from "preact/hooks";
import { ask } from "../session/ask.ts";
import type { ComparedDetail } from "../session/types.ts";
import { ALL } from "../session/types.ts";
import { event, namesGeneration, session } from "../state/app.ts";
import type { MirrorItem } from "../views/flame/mirror_items.ts";
import type { FlameModel } from "../views/flame/model.ts";
import { comparedItems } from "./mirror_items.ts";
import { comparedSelection, compareView, request } from "./state.ts";

export function useComparedMirror(model: FlameModel): MirrorItem[] {
  const [detail, setDetail] = useState<ComparedDetail | null>(null);
  useSignalEffect(() => {
    void namesGeneration.value;
    const callNode = comparedSelection.value?.callNode ?? model.laid.value?.root ?? ALL;
    const [asked, comparedRequest, view] = [session.value, request.value, compareView.value];
    if (asked === null || comparedRequest === null || model.laid.value === null) {
      return setDetail(null);
    }
    return ask(
      ({ signal }) => asked.call("comparedDetail", { request: comparedRequest, view, callNode }, { signal }),
      setDetail,
      () => setDetail(null),
    );
  });
  const isSelected = (comparedSelection.value?.callNode ?? null) !== null;
  const how = { basis: compareView.value.basis, event: event.value?.name ?? "" };
  return detail === null ? [] : comparedItems(detail, how, isSelected);
}
