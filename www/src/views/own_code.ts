// Which DSOs the user counts as own code although their folder says otherwise.

import type { DsoRef } from "../session/types.ts";
import { dsos, query, session } from "../state/app.ts";
import { MOST_OWN } from "../state/query_text.ts";
import { setOwn } from "./query_steps.ts";

/** By number in the ledger. */
export function countsAsOwn(dso: number): boolean {
  const row = dsos.value.find(({ id }) => id === dso);
  return row !== undefined && query.value.own.some((own) => means(own, { path: row.path, buildId: row.build_id }));
}

export async function countAs(dso: number, countedAs: "own" | "by-folder"): Promise<void> {
  const found = await session
    .peek()
    ?.call("dsoRef", { dso })
    .catch(() => null);
  if (found) {
    const others = query.peek().own.filter((own) => !means(own, found));
    setOwn(countedAs === "own" ? [...others, found].slice(-MOST_OWN) : others);
  }
}

/** As the session tells them apart: where no more is known of a path than its last part, that decides. */
function means(one: DsoRef, other: DsoRef): boolean {
  const isShort = !one.path.includes("/") || !other.path.includes("/");
  const isSamePath = one.path === other.path || (isShort && lastPart(one.path) === lastPart(other.path));
  return isSamePath && one.buildId === other.buildId;
}

function lastPart(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
