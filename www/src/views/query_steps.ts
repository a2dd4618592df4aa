// Changes of the question that all views answer, each one step that Back undoes.
//
// Call nodes belong to one tree: another direction or first level has other ones. So the zoom begins anew, and of the
// selection the function remains.

import type { Query } from "../session/types.ts";
import { ALL } from "../session/types.ts";
import { query, selection, zoomRoot } from "../state/app.ts";
import { step } from "../state/history.ts";
import { findSelectedFunction } from "./find_function.ts";

function ask(change: Partial<Query>): void {
  const next = { ...query.peek(), ...change };
  if (JSON.stringify(next) === JSON.stringify(query.peek())) {
    return;
  }
  step(() => {
    query.value = next;
    zoomRoot.value = ALL;
    const functionId = selection.peek()?.functionId ?? null;
    selection.value = functionId === null ? null : { callNode: null, functionId };
  });
  findSelectedFunction();
}

export const setDirection = (direction: Query["direction"]): void => ask({ direction });
export const setGroup = (group: Query["group"]): void => ask({ group });
export const setInlines = (inlines: Query["inlines"]): void => ask({ inlines });
export const setEvent = (event: number): void => ask({ event });
