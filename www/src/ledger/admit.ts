// Offering files to the profile, and what became of them.

import { batch, signal } from "@preact/signals";
import { Cancelled, SessionError, WorkerDied } from "../session/client.ts";
import type { DropReport } from "../session/types.ts";
import { coverage, dsos, info, namesGeneration, selectedDso, session } from "../state/app.ts";
import { runTask } from "../state/tasks.ts";
import { toast } from "../state/toasts.ts";
import { findPlaces } from "../views/places.ts";
import { describeDrop } from "./outcome.ts";

/** What of the last drops was not used, newest first. */
export const notUsed = signal<DropReport["notUsed"]>([]);
export const notUsedOpen = signal(false);

/** The file that was given for a DSO and is another build, for the explanation. */
export interface GivenFile {
  name: string;
  bytes: number;
  modified: number;
}

export const givenFor = signal<ReadonlyMap<number, GivenFile>>(new Map());

export function forgetDrops(): void {
  notUsed.value = [];
  notUsedOpen.value = false;
  givenFor.value = new Map();
}

/** Gives the files to the session: names come from those whose build-id was recorded. */
export async function admitFiles(files: readonly File[]): Promise<void> {
  const present = session.peek();
  if (present === null || files.length === 0) {
    return;
  }
  try {
    const report = await runTask("Reading files", (options) => present.call("admit", { files: [...files] }, options));
    await refreshNames();
    rememberGiven(files, report);
    notUsed.value = [...report.notUsed, ...notUsed.value];
    const text = describeDrop(files.length, report);
    if (report.notUsed.length === 0) {
      toast("info", text);
    } else {
      const show = (): void => {
        notUsedOpen.value = true;
      };
      toast("info", text, { label: "Not used", run: show });
    }
  } catch (error) {
    if (error instanceof SessionError) {
      toast("error", `The files could not be read: ${error.message}.`);
    } else if (error instanceof Cancelled) {
      // What was named until then has names.
      await refreshNames();
    } else if (!(error instanceof WorkerDied)) {
      throw error;
    }
  }
}

/** Asks the session again for what names change. */
export async function refreshNames(): Promise<void> {
  const present = session.peek();
  if (present === null) {
    return;
  }
  const [read, covered, generation, keepPlaces] = await Promise.all([
    present.call("info", {}),
    present.call("coverage", {}),
    present.call("generation", {}),
    findPlaces(present),
  ]);
  batch(() => {
    present.generation = generation;
    keepPlaces();
    dsos.value = read.dsos;
    coverage.value = covered;
    info.value = read;
    namesGeneration.value = generation;
  });
}

function rememberGiven(files: readonly File[], report: DropReport): void {
  const given = new Map(givenFor.value);
  for (const { file, reason } of report.notUsed) {
    const sameName = reason.kind === "nothing-recorded-has-it" ? reason.sameName : undefined;
    const source = files.find((each) => each.name === file);
    if (sameName && source !== undefined) {
      given.set(sameName.dso, { name: source.name, bytes: source.size, modified: source.lastModified });
      selectedDso.value ??= sameName.dso;
    }
  }
  givenFor.value = given;
}
