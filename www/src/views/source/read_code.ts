// Code as the session and the files' worker tell it, with what ended in it.

import { dataBlock } from "../../session/data_block.ts";
import type { Session } from "../../session/client.ts";
import type { FunctionRef, Query, SandwichFacts, Syntax } from "../../session/types.ts";
import { Flag, NONE } from "../../session/types.ts";
import { isForcedName } from "../sandwich/lines/hot_lines.ts";
import type { Listing } from "./listing.ts";
import { listingOf, listingOfHot } from "./listing.ts";

export interface ShownCode {
  reference: FunctionRef;
  facts: SandwichFacts;
  listing: Listing;
}

export interface CodeQuestion {
  session: Session;
  /** What is shown. */
  query: Query;
  syntax: Syntax;
  functionId: number | null;
  callNode: number | null;
  /** What an address says, where nothing is selected. */
  reference: FunctionRef | null;
}

/** Functions as the linker knows them: what is inlined is a part of its caller. */
export const mergedQuery = (query: Query): Query => ({ ...query, inlines: "merged", direction: "callees", around: null });

/** The code of a function, or why there is none to show. */
export async function readCode(question: CodeQuestion, { signal }: Pick<AbortController, "signal">): Promise<ShownCode | string> {
  const { session, syntax } = question;
  const query = mergedQuery(question.query);
  const functionId = question.reference === null ? await linkedFunction(question, signal) : null;
  const reference = functionId === null ? question.reference : await session.call("functionRef", { functionId }, { signal });
  if (reference === null) {
    return "Select a function to see its code.";
  }
  const facts = await session.call("sandwich", { query, function: reference }, { signal });
  if (facts === null) {
    return await whyNone(question, reference, signal);
  }
  if (isForcedName(facts)) {
    return `Names in ${facts.dso} are forced: they come from another build, so its lines and instructions are not the ones that ran.`;
  }
  const whole = { samples: 0, weight: facts.selfWeight };
  const listed = await session.call(
    "listCode",
    { query, function: reference, syntax, listing: await dataBlock("listing") },
    { signal },
  );
  const pieces = listed.flatMap((each) => each.pieces);
  if (pieces.length > 0) {
    whole.samples = pieces.reduce((sum, { samples }) => sum + samples, 0);
    return { reference, facts, listing: listingOf(listed, whole) };
  }
  const hot = await session.call("hotLines", { query, function: reference }, { signal });
  return hot === null
    ? `No sample ended in ${facts.name}: all are in functions it calls.`
    : { reference, facts, listing: { ...listingOfHot(hot), ended: listed.find(({ ended }) => ended !== null)?.ended ?? null } };
}

/** Why a function has no samples as the linker knows functions. */
async function whyNone({ session, query }: CodeQuestion, reference: FunctionRef, signal: AbortSignal): Promise<string> {
  const name = reference.name ?? "the selected function";
  const inlined: Query = { ...mergedQuery(query), inlines: "shown" };
  const facts = await session.call("sandwich", { query: inlined, function: reference }, { signal });
  return facts === null
    ? `No samples of ${name} are shown: other events, or fewer filters, may have some.`
    : `${name} is inlined wherever it was sampled, so its code is a part of its callers. Select it in a call tree or a flame graph.`;
}

/** The function that has the code of what is selected: the nearest caller that is not inlined itself. */
async function linkedFunction(
  { session, query, functionId, callNode }: CodeQuestion,
  signal: AbortSignal,
): Promise<number | null> {
  if (callNode === null || query.direction !== "callees" || query.inlines === "merged") {
    return functionId;
  }
  const path = await session.call("callTreePath", { query, callNode }, { signal });
  const last = path.flags.length - 1;
  const isOf = functionId === null || path.functionId[last] === functionId;
  const at = path.flags.findLastIndex((flags) => (flags & Flag.Inlined) === 0);
  const found = isOf ? path.functionId[at] : undefined;
  return found === undefined || found === NONE ? functionId : found;
}
