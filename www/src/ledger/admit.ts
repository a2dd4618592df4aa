// Offering files to the profile, and what became of them.

import { batch, signal } from "@preact/signals";
import type { Session } from "../session/client.ts";
import { Cancelled, SessionError, WorkerDied } from "../session/client.ts";
import type { CallerGuesses, DropReport, Facts, Rejection } from "../session/types.ts";
import { coverage, dsos, info, namesGeneration, selectedDso, session } from "../state/app.ts";
import { roles, second } from "../compare/state.ts";
import { ofProfile, whenAnotherOpens } from "../state/of_profile.ts";
import { runTask } from "../state/tasks.ts";
import { passingToast, toast } from "../state/toasts.ts";
import { renewFacts } from "../views/places.ts";
import { describeDrop } from "./outcome.ts";

/** What of the last drops was not used, newest first. */
export const notUsed = ofProfile<DropReport["notUsed"]>([]);
export const notUsedOpen = ofProfile(false);
/** What became of the last drop, as long as the profile is open: a toast is gone in a moment. */
export const lastDrop = ofProfile("");

/** Takes the toast away that leads to what was not used. */
let dismissNotUsed = (): void => {};
whenAnotherOpens(() => dismissNotUsed());

/** By DSO the file that was given for it and is another build: to explain, and to be used if the user insists. */
export const givenFor = ofProfile<ReadonlyMap<number, File>>(new Map());

/** Files for the next profile too, newest last: whoever compares two recordings has given their binaries once. */
let held: readonly File[] = [];
const MOST_HELD = 200;

/** Gives the files to the session: names come from those whose build-id was recorded. */
export async function admitFiles(files: readonly File[]): Promise<void> {
  const present = session.peek();
  if (present === null || files.length === 0) {
    return;
  }
  try {
    const report = await offer(present, files);
    hold(files, report);
    selectedDso.value ??= firstMismatched(report);
    const used = new Set(report.used.map(({ name }) => name));
    notUsed.value = [...report.notUsed, ...notUsed.value.filter(({ name }) => !used.has(name))];
    const text = describeDrop(report, roles.peek());
    lastDrop.value = text;
    if (report.notUsed.length === 0) {
      toast("info", text);
    } else {
      const show = (): void => {
        notUsedOpen.value = true;
      };
      dismissNotUsed = passingToast("info", text, { label: "Details", run: show });
    }
  } catch (error) {
    if (error instanceof SessionError) {
      toast("error", `The files could not be read: ${error.message}.`);
      await refreshNames();
    } else if (error instanceof Cancelled) {
      // What was named until then has names.
      await refreshNames();
    } else if (!(error instanceof WorkerDied)) {
      throw error;
    }
  }
}

/** Offers what travelled in a profile that has just opened, and what was dropped before; what it cannot use was not meant for it. */
export async function admitKnown(): Promise<void> {
  const present = session.peek();
  if (present === null) {
    return;
  }
  try {
    const hasMore = await runTask("Reading embedded files", (options) => present.call("admitEmbedded", {}, options));
    if (held.length > 0) {
      await offer(present, held);
    } else if (hasMore) {
      await refreshNames();
    }
  } catch (error) {
    if (error instanceof Cancelled) {
      await refreshNames();
    } else if (!(error instanceof SessionError || error instanceof WorkerDied)) {
      throw error;
    }
  }
}

async function offer(present: Session, files: readonly File[]): Promise<DropReport> {
  const report = await runTask("Reading files", (options) => present.call("admit", { files: [...files] }, options));
  await refreshNames();
  rememberGiven(files, report);
  return report;
}

function hold(files: readonly File[], { notUsed }: DropReport): void {
  const strange = new Set(notUsed.flatMap(({ name, reason }) => (reason.kind === "not-an-image" ? [name] : [])));
  const useful = files.filter(({ name }) => !strange.has(name));
  held = [...held, ...useful].slice(-MOST_HELD);
}

/** Names what was fetched, and asks the session again for what names change. */
export async function refreshNames(): Promise<void> {
  if (await nameAndUnwind()) {
    reachesMore.value += 1;
  }
}

/** Whether stacks have become longer. */
async function nameAndUnwind(): Promise<boolean> {
  const present = session.peek();
  if (present === null) {
    return false;
  }
  const isUnwound = await unwind(present);
  await present.call("nameFrames", {});
  const beside = second.peek();
  await renewFacts(present, (facts) => {
    // Another one may have been opened meanwhile.
    if (beside !== null && facts.second !== null && second.peek() === beside) {
      second.value = { ...beside, ...facts.second };
    }
    showFacts(present, facts);
  });
  return isUnwound;
}

/** Names what branches lead to, too. */
export async function nameBranches(): Promise<void> {
  await nameAndUnwind();
  reachesMore.value += 1;
}

/** Data was looked up: shows which files it is in, too. */
export async function showDataFiles(present: Session): Promise<void> {
  await renewFacts(present, (facts) => showFacts(present, facts));
  reachesMore.value += 1;
}

/** Whether callers are guessed where no file tells of them. */
export const callerGuesses = signal<CallerGuesses>("none");

/** Unwinds again what this changes. */
export async function guessCallers(guesses: CallerGuesses): Promise<void> {
  callerGuesses.value = guesses;
  await refreshNames();
}

/** Changes when stacks have become longer, branches were read or data was looked up: they may have reached code that nothing was known of. */
export const reachesMore = signal(0);

/** Unwinds what can be; the recording is read once more for that. */
async function unwind(present: Session): Promise<boolean> {
  const warnings = [info.peek(), second.peek()?.info].flatMap((of) => of?.warnings ?? []);
  if (!warnings.some(({ kind }) => kind === "not-unwound")) {
    return false;
  }
  try {
    return await runTask("Unwinding", (options) => present.call("unwind", { guesses: callerGuesses.peek() }, options));
  } catch (error) {
    if (error instanceof SessionError) {
      toast("error", `Stacks could not be unwound, as the recording could not be read again: ${error.message}.`);
    } else if (!(error instanceof Cancelled)) {
      throw error;
    }
    return false;
  }
}

/** Of the profile that is open, or opens: all views ask again. */
export function showFacts(of: Session, facts: Facts): void {
  batch(() => {
    of.generation = facts.generation;
    dsos.value = facts.info.dsos;
    coverage.value = facts.coverage;
    info.value = facts.info;
    namesGeneration.value = facts.generation;
  });
}

function firstMismatched({ notUsed }: DropReport): number | null {
  for (const { reason, by } of notUsed) {
    if (by === "first" && reason.kind === "nothing-recorded-has-it" && reason.sameName) {
      return reason.sameName.dso;
    }
  }
  return null;
}

function rememberGiven(files: readonly File[], report: DropReport): void {
  const given = new Map(givenFor.value);
  for (const { name, reason, by } of report.notUsed) {
    const dso = by === "first" ? dsoOf(reason) : undefined;
    const source = files.find((each) => each.name === name);
    if (dso !== undefined && source !== undefined) {
      given.set(dso, source);
    }
  }
  givenFor.value = given;
}

/** The DSO that a file was given for, going by its name. */
function dsoOf(reason: Rejection): number | undefined {
  switch (reason.kind) {
    case "nothing-recorded-has-it":
      return reason.sameName?.dso;
    case "recorded-without-identity":
      return dsos.peek().find(({ path }) => path === reason.path)?.id;
    default:
      return undefined;
  }
}
