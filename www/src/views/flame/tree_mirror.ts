// What assistive technology is told of a graph of a call tree: asked for whenever the selection is another one.

import { useSignalEffect } from "@preact/signals";
import { useMemo, useState } from "preact/hooks";
import type { Session } from "../../session/client.ts";
import type { Query } from "../../session/types.ts";
import { ALL } from "../../session/types.ts";
import { dsos, namesGeneration, session } from "../../state/app.ts";
import { latest } from "../latest.ts";
import type { MirrorData, MirrorItem } from "./mirror_items.ts";
import { MOST_CHILDREN, MOST_SIBLINGS, mirrorItems } from "./mirror_items.ts";
import type { FlameModel } from "./model.ts";

interface Question {
  session: Session;
  query: Query;
  callNode: number;
}

export type TreeNeighbours = Pick<MirrorData, "path" | "siblings" | "children">;

async function ask({ session, query, callNode }: Question): Promise<TreeNeighbours | null> {
  const path = await session.call("callTreePath", { query, callNode });
  const parent = path.callNode.at(-2);
  const place = (path.posInSet.at(-1) ?? 1) - 1;
  const beside = { from: Math.max(0, place - MOST_SIBLINGS / 2), to: place + MOST_SIBLINGS / 2 + 1 };
  const [children, siblings] = await Promise.all([
    session.call("callTreeChildren", { query, callNode, from: 0, to: MOST_CHILDREN }),
    parent === undefined ? null : session.call("callTreeChildren", { query, callNode: parent, ...beside }),
  ]);
  return { path, children, siblings };
}

/** The call that keys are on, what leads to it, what is beside it and what it calls; null while that is asked. */
export function useTreeNeighbours(model: FlameModel): TreeNeighbours | null {
  const [data, setData] = useState<TreeNeighbours | null>(null);
  const questions = useMemo(
    () => latest<Question, TreeNeighbours | null>({ ask, deliver: setData, fail: () => setData(null) }),
    [],
  );
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
