// Which DSOs the user counts as own code although their folder says otherwise.

import { dsos, query, session } from "../state/app.ts";
import { setOwn } from "./query_steps.ts";

/** By number in the ledger. */
export function countsAsOwn(dso: number): boolean {
  const row = dsos.value.find(({ id }) => id === dso);
  return row !== undefined && query.value.own.some(({ path, buildId }) => path === row.path && buildId === row.build_id);
}

export async function countAs(dso: number, countedAs: "own" | "by-folder"): Promise<void> {
  const found = await session
    .peek()
    ?.call("dsoRef", { dso })
    .catch(() => null);
  if (found) {
    const others = query.peek().own.filter(({ path, buildId }) => path !== found.path || buildId !== found.buildId);
    setOwn(countedAs === "own" ? [...others, found] : others);
  }
}
