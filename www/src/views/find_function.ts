// A selection that knows its function only, as after a change of trees: the function's heaviest call node joins it.

import type { Session } from "../session/client.ts";
import type { FlameGraph, Query } from "../session/types.ts";
import { ALL } from "../session/types.ts";
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
  ask: ({ session: asked, query: of }, { signal }) => {
    const window = { root: ALL, widthPx: LOOKUP_PX, minPx: 0.5, search: "" };
    return asked.call("flameGraph", { query: of, window }, { signal });
  },
  deliver: (graph, { functionId }) => {
    const box = heaviestOfFunction(graph, functionId);
    const isStillSelected = selection.peek()?.functionId === functionId && selection.peek()?.callNode === null;
    if (box !== NO_BOX && graph.callNode[box] !== FOLDED && isStillSelected) {
      selection.value = { ...selection.peek(), callNode: graph.callNode[box] as number, functionId };
    }
  },
});

/** Looks for the heaviest call node of the selected function in the tree of the present query. */
export function findSelectedFunction(): void {
  const functionId = selection.peek()?.functionId ?? null;
  const asked = session.peek();
  if (asked !== null && functionId !== null) {
    lookups.ask({ session: asked, query: query.peek(), functionId });
  }
}

/** Selects a function, and in the present tree its heaviest call node. */
export function showFunction(functionId: number | null): void {
  if (functionId !== null && functionId !== selection.peek()?.functionId) {
    selection.value = { callNode: null, functionId };
    findSelectedFunction();
  }
}
