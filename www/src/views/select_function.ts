// Selecting a function where no call node is at hand: its heaviest call node becomes the selection of the other views.

import type { Session } from "../session/client.ts";
import type { FlameGraph, Query } from "../session/types.ts";
import { ALL } from "../session/types.ts";
import type { Selection } from "../state/app.ts";
import { query, selection, session } from "../state/app.ts";
import { FOLDED, heaviestOfFunction, NO_BOX } from "./flame/hit_test.ts";
import { latest } from "./latest.ts";

/** A graph this wide has a box for every call of 0.025 % and more. */
const LOOKUP_PX = 2000;

interface Question {
  session: Session;
  query: Query;
  functionId: number;
}

const lookups = latest<Question, FlameGraph>({
  ask: (question) =>
    question.session.call("flameGraph", {
      query: question.query,
      window: { root: ALL, widthPx: LOOKUP_PX, minPx: 0.5, search: "" },
    }),
  deliver: (graph, { functionId }) => {
    const box = heaviestOfFunction(graph, functionId);
    const isStillSelected = selection.peek()?.functionId === functionId && selection.peek()?.callNode === null;
    if (box !== NO_BOX && graph.callNode[box] !== FOLDED && isStillSelected) {
      selection.value = { ...selection.peek(), callNode: graph.callNode[box] as number, functionId };
    }
  },
});

export function selectFunction(functionId: number, row: NonNullable<Selection["row"]>): void {
  selection.value = { callNode: null, functionId, row };
  const asked = session.peek();
  if (asked) {
    lookups.ask({ session: asked, query: query.peek(), functionId });
  }
}
