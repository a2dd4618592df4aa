// What assistive technology is told of a graph of a call tree: asked for whenever the selection is another one.

import { useSignalEffect } from "@preact/signals";
import { useState } from "preact/hooks";
import { ask } from "../../session/ask.ts";
import { ALL } from "../../session/types.ts";
import { dsos, namesGeneration, query, selection, session } from "../../state/app.ts";
import { MOST_SPOKEN, selectedCall } from "../../state/detail.ts";
import type { MirrorData, MirrorItem } from "./mirror_items.ts";
import { mirrorItems } from "./mirror_items.ts";
import type { FlameModel } from "./model.ts";

export type TreeNeighbours = Pick<MirrorData, "path" | "siblings" | "children">;

/** The call that keys are on, what leads to it, what is beside it and what it calls; null while that is asked. */
export function useTreeNeighbours(model: FlameModel): TreeNeighbours | null {
  const [data, setData] = useState<TreeNeighbours | null>(null);
  const { host } = model;
  useSignalEffect(() => {
    void namesGeneration.value;
    const several = model.several.value;
    const selected = host.selection.value?.callNode ?? null;
    const callNode = several?.parent ?? selected ?? model.laid.value?.root ?? ALL;
    const of = host.query.value;
    const asked = session.value;
    if (asked === null || of === null || model.laid.value === null) {
      return setData(null);
    }
    if (callNode === selected && host.selection === selection && of === query.value) {
      // The page's own selection, which is asked about already. Until it is answered the tree stays as it was:
      // a tree without items would be spoken as one that was closed.
      return selectedCall.value === null ? undefined : setData(selectedCall.value);
    }
    // Where names came meanwhile, the graph of these is asked about next. Until then the tree stays as it was.
    return ask(({ signal }) => asked.call("callNode", { query: of, callNode, most: MOST_SPOKEN }, { signal }), setData);
  });
  return data;
}

export function useTreeMirror(model: FlameModel): MirrorItem[] {
  const { host } = model;
  const data = useTreeNeighbours(model);
  if (data === null) {
    return [];
  }
  const statuses = new Map(dsos.value.map((row) => [row.id, row.status]));
  const several = model.several.value?.words ?? null;
  const selected = several !== null || (host.selection.value?.callNode ?? null) !== null;
  const whole = model.laid.value?.graph.allTotal ?? 0;
  return mirrorItems({ ...data, several, selected, whole, statusOf: (dso) => statuses.get(dso) ?? null });
}
