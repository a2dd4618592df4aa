// The function between its callers and its callees: the selected one, and what is known of it.

import type { ReadonlySignal } from "@preact/signals";
import { batch, computed, effect, signal } from "@preact/signals";
import { ask } from "../../session/ask.ts";
import type { CallOptions, Session } from "../../session/client.ts";
import type { CallNodeDetail, FunctionRef, Query, SandwichFacts } from "../../session/types.ts";
import { ALL } from "../../session/types.ts";
import { shownGroup, namesGeneration, phase, query, selection, session } from "../../state/app.ts";
import { recursion } from "../options.ts";

export type Side = "callers" | "callees";

/** What it is called in queries; null while nothing, or no function, is selected. */
export const centre = signal<FunctionRef | null>(null);

/** null while it is asked, or where nothing of it is shown. */
export const facts = signal<SandwichFacts | null>(null);

/** Of which function no sample is shown, as far as it has been asked. */
const without = signal<FunctionRef | null>(null);
/** True for a function that branches alone lead to, say. */
export const isWithoutSamples = computed(() => centre.value !== null && without.value === centre.value);

export const sides: Readonly<Record<Side, ReadonlySignal<Query | null>>> = {
  callers: computed(() => around("callers")),
  callees: computed(() => around("callees")),
};

function around(side: Side): Query | null {
  if (centre.value === null) {
    return null;
  }
  const { steps } = query.value;
  return {
    ...query.value,
    steps: recursion.value === "folded" ? [...steps, { kind: "collapse-recursion" }] : steps,
    around: { function: centre.value, side },
  };
}

/** Follows the selection; the answer ends it. */
export function followCentre(): () => void {
  const stops = [effect(followSelection), effect(askFacts)];
  return () => stops.forEach((stop) => stop());
}

function followSelection(): (() => void) | undefined {
  void namesGeneration.value;
  const { callNode = null, functionId = null } = selection.value ?? {};
  const asked = session.value;
  if (asked !== null && phase.value.kind === "open" && functionId !== null) {
    return ask(({ signal }) => asked.call("functionRef", { functionId }, { signal }), setCentre);
  }
  if (asked !== null && callNode !== null && shownGroup.value === "function") {
    const about = { query: query.peek(), callNode };
    return ask(
      ({ signal }) => asked.call("callNodeDetail", about, { signal }),
      (detail) => completeSelection(callNode, detail),
    );
  }
  centre.value = null;
  return undefined;
}

function setCentre(reference: FunctionRef | null): void {
  // Another object would ask for everything again.
  if (JSON.stringify(reference) !== JSON.stringify(centre.peek())) {
    centre.value = reference;
  }
}

/** A search, and names that arrive, leave a selection that knows its call only. */
function completeSelection(callNode: number, detail: CallNodeDetail | null): void {
  const chosen = selection.peek();
  if (chosen?.callNode !== callNode || chosen.functionId !== null) {
    return;
  }
  const functionId = detail?.functionId ?? null;
  if (functionId === null) {
    centre.value = null;
  } else {
    selection.value = { ...chosen, functionId };
  }
}

function askFacts(): (() => void) | undefined {
  void namesGeneration.value;
  const [asked, reference, of] = [session.value, centre.value, query.value];
  if (asked === null || reference === null) {
    facts.value = null;
    return undefined;
  }
  return ask(
    ({ signal }) => asked.call("sandwich", { query: of, function: reference }, { signal }),
    (answer) => {
      batch(() => {
        facts.value = answer;
        without.value = answer === null ? reference : null;
      });
      const chosen = selection.peek();
      const isMissing = chosen?.callNode === null && chosen.functionId === answer?.functionId;
      if (answer !== null && isMissing && of === query.peek() && of.direction === "callees") {
        selection.value = { ...chosen, callNode: answer.heaviest };
      }
    },
  );
}

/** The only child of the root of a tree around a function is the function; `ALL` where none of it is shown. */
export async function callNodeOfCentre(session: Session, query: Query, options?: CallOptions): Promise<number> {
  const first = await session.call("callTreeChildren", { query, callNode: ALL }, options);
  return first.callNode[0] ?? ALL;
}
