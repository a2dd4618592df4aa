// The override: names for one DSO from a file that is not the one that ran, marked wherever they stand, until stopped.
// Forced names that came with a link or a page cannot be stopped: what lies behind them did not come along.

import { computed } from "@preact/signals";
import { Cancelled, SessionError, WorkerDied } from "../session/client.ts";
import type { DsoRow, ForceOutcome } from "../session/types.ts";
import { pickBinaries } from "../open/pick.ts";
import { forcedRows, hasNoBuildIds, session } from "../state/app.ts";
import { ofProfile } from "../state/of_profile.ts";
import { runTask } from "../state/tasks.ts";
import { toast } from "../state/toasts.ts";
import { givenFor, lastDrop, refreshNames } from "./admit.ts";

/** The DSO and the file that the user is being asked about. */
export const confirming = ofProfile<{ row: DsoRow; file: File } | null>(null);

/** The DSOs that were forced in this page, whether they still are or not. */
const forcedHere = ofProfile<ReadonlySet<number>>(new Set());

/** What can be stopped. */
export const stoppable = computed(() => forcedRows.value.filter(({ id }) => forcedHere.value.has(id)));

/** What a file can be forced upon. A recording without any build-id is better recorded again. */
export function canForce({ status }: DsoRow): boolean {
  return status === "mismatched" || (status === "no-identity" && !hasNoBuildIds.value);
}

/** Asks about the file that was given for the DSO and refused; where the page holds none, for one first. */
export async function askToForce(row: DsoRow): Promise<void> {
  const file = givenFor.peek().get(row.id) ?? (await pickBinaries())[0];
  if (file !== undefined) {
    confirming.value = { row, file };
  }
}

/** These DSOs have names by force, which can be stopped. */
export function noteForced(ids: readonly number[]): void {
  forcedHere.value = new Set([...forcedHere.peek(), ...ids]);
}

export async function force({ id, name }: DsoRow, file: File): Promise<void> {
  const outcome = await ask(`Reading ${file.name}`, (present, options) => present.call("force", { dso: id, file }, options));
  if (outcome?.outcome === "forced") {
    noteForced([id]);
  }
  await refreshNames();
  report(name, file, outcome);
}

function report(name: string, file: File, outcome: ForceOutcome | null): void {
  if (outcome?.outcome === "matched" || outcome?.outcome === "forced") {
    // What the file was refused for is said no more.
    lastDrop.value = `Used ${file.name} for ${name}${outcome.outcome === "forced" ? ", by force" : ""}.`;
  }
  switch (outcome?.outcome) {
    case "matched":
      return toast("info", `${file.name} is the build that ran. It was used without forcing.`);
    case "refused":
      return toast("error", `${file.name} cannot be used for ${name}: ${outcome.message}.`);
    case "forced":
      if (outcome.frames === 0) {
        toast("error", `${file.name} has no functions at the sampled addresses of ${name}.`);
      }
  }
}

/** The DSOs are what they were before. */
export async function stopForcing(rows: readonly DsoRow[]): Promise<void> {
  for (const { id, name } of rows) {
    await ask(`Removing forced names of ${name}`, (present) => present.call("unforce", { dso: id }));
  }
  await refreshNames();
  lastDrop.value = "";
}

type OpenSession = NonNullable<typeof session.value>;
type Options = Parameters<Parameters<typeof runTask>[1]>[0];

/** null where there was no answer: the session says why, or somebody cancelled. */
export async function ask<T>(label: string, call: (present: OpenSession, options: Options) => Promise<T>): Promise<T | null> {
  const present = session.peek();
  try {
    return present === null ? null : await runTask(label, (options) => call(present, options));
  } catch (error) {
    if (error instanceof SessionError) {
      toast("error", `${label} failed: ${error.message}.`);
    } else if (!(error instanceof Cancelled || error instanceof WorkerDied)) {
      throw error;
    }
    return null;
  }
}
