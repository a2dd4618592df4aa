// What assistive technology is told of the compared graph: asked for whenever the selection is another one.

import { useSignalEffect } from "@preact/signals";
import { useMemo, useState } from "preact/hooks";
import type { Session } from "../session/client.ts";
import type { ComparedDetail, CompareRequest } from "../session/types.ts";
import { ALL } from "../session/types.ts";
import { event, namesGeneration, session } from "../state/app.ts";
import type { MirrorItem } from "../views/flame/mirror_items.ts";
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

export function useComparedMirror(model: FlameModel): MirrorItem[] {
  const [detail, setDetail] = useState<ComparedDetail | null>(null);
  const questions = useMemo(
    () =>
      latest<Question, ComparedDetail | null>({
        ask: ({ session, ...question }, { signal }) => session.call("comparedDetail", question, { signal }),
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
  const isSelected = (comparedSelection.value?.callNode ?? null) !== null;
  const how = { basis: compareView.value.basis, event: event.value?.name ?? "" };
  return detail === null ? [] : comparedItems(detail, how, isSelected);
}
