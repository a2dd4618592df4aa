// Which DSOs the user counts as own code although their folder says otherwise.

import { signal } from "@preact/signals";
import { refreshNames } from "../ledger/admit.ts";
import { opened, session } from "../state/app.ts";

/** By number in the ledger, for what is open. */
const counted = signal<{ of: typeof opened.value; dsos: ReadonlySet<number> }>({ of: null, dsos: new Set() });

export function countsAsOwn(dso: number): boolean {
  return counted.value.of === opened.value && counted.value.dsos.has(dso);
}

export async function countAs(dso: number, countedAs: "own" | "by-folder"): Promise<void> {
  const of = opened.peek();
  const dsos = new Set(counted.peek().of === of ? counted.peek().dsos : []);
  if (countedAs === "own") {
    dsos.add(dso);
  } else {
    dsos.delete(dso);
  }
  await session.peek()?.call("countAs", { dso, countedAs });
  counted.value = { of, dsos };
  await refreshNames();
}
