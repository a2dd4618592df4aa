// The lines of the function between its callers and callees: what the session says of them, and which row is chosen.

import { computed, effect, signal } from "@preact/signals";
import { ask } from "../../../session/ask.ts";
import type { FunctionRef, HotLines } from "../../../session/types.ts";
import { groupBy, linesOf, namesGeneration, phase, query, selection, session, view } from "../../../state/app.ts";
import { amendStep, step } from "../../../state/history.ts";
import { centre, facts } from "../centre.ts";
import type { Place } from "./hot_lines.ts";
import { followBlocks } from "./blocks_state.ts";
import { isForcedName, isSameFunction, marksOf, nextHot, NO_MARKS, placeOfLine } from "./hot_lines.ts";

/** null while it is asked, and where nothing is to be said. */
export const hot = signal<HotLines | null>(null);

/** The chosen line or instruction. */
export const chosen = signal<Place | null>(null);

export const marks = computed(() => (hot.value === null ? NO_MARKS : marksOf(hot.value, chosen.value)));

/** Asks for the lines while they are shown, of what is selected; selects what an address says. */
export function followLines(): () => void {
  const stops = [
    effect(followAddress),
    effect(() => {
      const reference = centre.value;
      if (reference !== null && linesOf.peek() !== null && !isSameFunction(linesOf.peek(), reference)) {
        amendStep(() => {
          linesOf.value = reference;
        });
      }
    }),
    effect(() => {
      void centre.value;
      chosen.value = null;
    }),
    effect(askLines),
    followBlocks(),
  ];
  return () => stops.forEach((stop) => stop());
}

function askLines(): (() => void) | undefined {
  void namesGeneration.value;
  const [asked, reference, known, of] = [session.value, centre.value, facts.value, query.value];
  if (asked === null || reference === null || linesOf.value === null || known === null || isForcedName(known)) {
    hot.value = null;
    return undefined;
  }
  return ask(
    ({ signal }) => asked.call("hotLines", { query: of, function: reference }, { signal }),
    (answer) => {
      hot.value = answer;
    },
  );
}

/** An address, Back and Forward say a function: it is selected. */
function followAddress(): (() => void) | undefined {
  void namesGeneration.value;
  const [asked, reference] = [session.value, linesOf.value];
  if (asked === null || reference === null || phase.value.kind !== "open" || isSameFunction(centre.peek(), reference)) {
    return undefined;
  }
  const of = query.peek();
  return ask(
    ({ signal }) => asked.call("sandwich", { query: of, function: reference }, { signal }),
    (found) => {
      if (found !== null && isSameFunction(linesOf.peek(), reference)) {
        selection.value = {
          callNode: query.peek().direction === "callees" ? found.heaviest : null,
          functionId: found.functionId,
        };
      }
    },
  );
}

/** Shows lines in the place of callers and callees, or these again, as a step that Back undoes. */
export function setLines(reference: FunctionRef | null): void {
  if (!isSameFunction(linesOf.peek(), reference)) {
    step(() => {
      linesOf.value = reference;
    });
  }
}

/** Shows the lines of the selected function, from whichever view. */
export async function showLines(): Promise<void> {
  const functionId = selection.peek()?.functionId ?? null;
  const reference =
    functionId === null
      ? null
      : await session
          .peek()
          ?.call("functionRef", { functionId })
          .catch(() => null);
  if (reference) {
    step(() => {
      view.value = "functions";
      groupBy("function");
      linesOf.value = reference;
    });
  }
}

/** Chooses the next hot line, or the one before. */
export function stepHot(way: "next" | "previous"): void {
  const answer = hot.peek();
  const [from = null] = marks.peek().lines;
  const at = answer === null ? null : nextHot(answer, from, way);
  const line = at === null ? undefined : answer?.lines[at];
  if (line !== undefined) {
    chosen.value = placeOfLine(line);
  }
}
