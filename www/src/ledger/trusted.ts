// Names by path, of what was recorded without a build-id: `perftab view` looks at its machine's files, and says which of them
// nothing speaks against. All of it is forced, and marked.

import { computed } from "@preact/signals";
import type { DsoRow } from "../session/types.ts";
import { dsos, opened } from "../state/app.ts";
import { count } from "../state/format.ts";
import { ofProfile } from "../state/of_profile.ts";
import { toast } from "../state/toasts.ts";
import { lastDrop, refreshNames } from "./admit.ts";
import { ask, noteForced } from "./forced.ts";

/** Whether the user is being asked. */
export const askingToTrust = ofProfile(false);

/** What speaks against the files of these DSOs has been said. */
const doubted = ofProfile<ReadonlySet<number>>(new Set());

/** Whether the server may have what names some of it. Whether it has, it says when it is asked. */
export const canTrustPaths = computed(
  () => (opened.value?.trusted ?? null) !== null && dsos.value.some((row) => isOfPath(row) && !doubted.value.has(row.id)),
);

function isOfPath({ status, samples, kind, path }: DsoRow): boolean {
  return status === "no-identity" && samples > 0 && (kind === "kernel" || (kind === "user" && path.startsWith("/")));
}

export async function trustPaths(): Promise<void> {
  const trusted = opened.peek()?.trusted ?? null;
  if (trusted === null) {
    return;
  }
  const asked = dsos.peek().filter(isOfPath);
  const named = await ask("Reading files by path", (present, options) => present.call("trustPaths", trusted, options));
  if (named === null) {
    return;
  }
  noteForced(named);
  await refreshNames();
  const left = asked.filter(({ id }) => !named.includes(id));
  doubted.value = new Set(left.map(({ id }) => id));
  const words = `Names by path: ${count(named.length)} of ${count(asked.length)} DSOs without a build-id.`;
  lastDrop.value = left.length > 0 ? `${words} The ledger says why not the others.` : words;
  if (named.length === 0) {
    toast("error", "No file at these paths can be used. “Why?” beside each DSO says what speaks against it.");
  }
}
