// The function between its callers and its callees: the selected one, and what is known of it.

import type { ReadonlySignal } from "@preact/signals";
import { computed, effect, signal } from "@preact/signals";
import type { Session } from "../../session/client.ts";
import type { CallNodeDetail, FunctionRef, Query } from "../../session/types.ts";
import { ALL, Flag } from "../../session/types.ts";
import { namesGeneration, phase, query, selection, session } from "../../state/app.ts";
import { latest } from "../latest.ts";

/** Inlined functions are followed no deeper than this, and no more of them are looked at. */
const MOST_INLINED = 64;

export type Side = "callers" | "callees";

/** What it is called in queries; null while nothing, or no function, is selected. */
export const centre = signal<FunctionRef | null>(null);

export interface CentreFacts {
  /** Its own call node in the tree of its callees. */
  detail: CallNodeDetail;
  /** Weight of its own code and of what was inlined into it, heaviest first, itself first; empty where nothing was. */
  parts: InlinedPart[];
}

export interface InlinedPart {
  name: string;
  kind: number;
  flags: number;
  self: number;
}

/** null while it is asked, or where nothing of it is shown. */
export const facts = signal<CentreFacts | null>(null);

export const sides: Readonly<Record<Side, ReadonlySignal<Query | null>>> = {
  callers: computed(() => around("callers")),
  callees: computed(() => around("callees")),
};

function around(side: Side): Query | null {
  return centre.value === null ? null : { ...query.value, around: { function: centre.value, side } };
}

interface CentreQuestion {
  session: Session;
  functionId: number;
}

const references = latest<CentreQuestion, FunctionRef | null>({
  ask: ({ session, functionId }) => session.call("functionRef", { functionId }),
  deliver: (reference) => {
    // Another object would ask for everything again.
    if (JSON.stringify(reference) !== JSON.stringify(centre.peek())) {
      centre.value = reference;
    }
  },
});

const details = latest<{ session: Session; query: Query }, CentreFacts | null>({
  ask: askFacts,
  deliver: (answer) => {
    facts.value = answer;
  },
});

/** Follows the selection; the answer ends it. */
export function followCentre(): () => void {
  const stops = [
    effect(() => {
      void namesGeneration.value;
      const functionId = selection.value?.functionId ?? null;
      const asked = session.value;
      if (functionId === null || asked === null || phase.value.kind !== "open") {
        references.drop();
        centre.value = null;
      } else {
        references.ask({ session: asked, functionId });
      }
    }),
    effect(() => {
      void namesGeneration.value;
      const asked = session.value;
      const query = sides.callees.value;
      if (asked === null || query === null) {
        details.drop();
        facts.value = null;
      } else {
        details.ask({ session: asked, query });
      }
    }),
  ];
  return () => stops.forEach((stop) => stop());
}

async function askFacts({ session, query }: { session: Session; query: Query }): Promise<CentreFacts | null> {
  const callNode = await callNodeOfCentre(session, query);
  const detail = callNode === ALL ? null : await session.call("callNodeDetail", { query, callNode });
  return detail && { detail, parts: await inlinedParts(session, query, detail) };
}

/** The only child of the root of a tree around a function is the function; `ALL` where none of it is shown. */
export async function callNodeOfCentre(session: Session, query: Query): Promise<number> {
  const first = await session.call("callTreeChildren", { query, callNode: ALL });
  return first.callNode[0] ?? ALL;
}

/** Goes down from a function as long as what it calls was inlined. */
async function inlinedParts(session: Session, query: Query, { callNode, name, kind, flags, selfWeight }: CallNodeDetail): Promise<InlinedPart[]> {
  const parts = new Map<string, InlinedPart>();
  const waiting = [callNode];
  for (let looked = 0; waiting.length > 0 && looked < MOST_INLINED; looked++) {
    const rows = await session.call("callTreeChildren", { query, callNode: waiting.shift() as number });
    rows.callNode.forEach((child, at) => {
      if ((rows.flags[at] as number) & Flag.Inlined) {
        const name = rows.names[at] ?? "";
        const part = parts.get(name) ?? { name, kind: rows.kind[at] as number, flags: rows.flags[at] as number, self: 0 };
        part.self += rows.self[at] as number;
        parts.set(name, part);
        waiting.push(child);
      }
    });
  }
  const inlined = [...parts.values()].filter(({ self }) => self > 0).sort((a, b) => b.self - a.self);
  return inlined.length === 0 ? [] : [{ name, kind, flags, self: selfWeight }, ...inlined];
}
