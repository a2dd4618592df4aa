// The basic blocks of the function whose lines are shown, where the recording has branches. These are no part of a profile:
// its file is read once more for them, anew for each set of filters.

import { batch, computed, effect, signal } from "@preact/signals";
import { nameBranches } from "../../../ledger/admit.ts";
import { ask } from "../../../session/ask.ts";
import type { Session } from "../../../session/client.ts";
import { Cancelled, SessionError } from "../../../session/client.ts";
import type { BranchBlocks, FunctionRef, Query } from "../../../session/types.ts";
import { info, linesOf, namesGeneration, query, session } from "../../../state/app.ts";
import { runTask } from "../../../state/tasks.ts";
import { centre, facts, isWithoutSamples } from "../centre.ts";
import { rowsOf } from "./blocks.ts";
import { isForcedName } from "./hot_lines.ts";

export type Blocks =
  | { kind: "known"; of: BranchBlocks }
  | { kind: "reading" }
  | { kind: "cancelled" }
  | { kind: "failed"; why: string };

/** null where nothing is to be said of them. */
export const blocks = signal<Blocks | null>(null);

export const blockRows = computed(() => (blocks.value?.kind === "known" ? rowsOf(blocks.value.of) : []));

/** Whether branches were recorded. */
export const hasBranches = computed(() => (info.value?.branch_stacks ?? 0) > 0);

/** False once the user has cancelled, until they ask for them. */
const isWanted = signal(true);
/** How often they were asked for after that, or after a failure. */
const tries = signal(0);

/** Branches that are being read. */
interface Reading {
  session: Session;
  query: Query;
  abort: AbortController;
  /** False if the user cancels it, or there is nothing to read. */
  done: Promise<boolean>;
}

let underway: Reading | null = null;

/** Names that arrive ask again, and wait for the same reading. */
async function read(session: Session, query: Query, signal: AbortSignal): Promise<boolean> {
  if (underway?.session !== session || underway.query !== query) {
    stopReading();
    const abort = new AbortController();
    underway = { session, query, abort, done: readAndName(session, query, abort) };
    underway.done.catch(() => {});
  }
  const newerQuestion = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(new Cancelled()), { once: true });
  });
  return await Promise.race([underway.done, newerQuestion]);
}

async function readAndName(session: Session, query: Query, abort: AbortController): Promise<boolean> {
  try {
    const isRead = await runTask("Reading branches", (options) => session.call("readBranches", { query }, options), abort);
    if (isRead) {
      await nameBranches();
    }
    return isRead;
  } catch (error) {
    if (!(error instanceof Cancelled)) {
      throw error;
    }
    // Else nobody waits for it any more.
    if (underway?.abort === abort) {
      isWanted.value = false;
    }
    return false;
  } finally {
    if (underway?.abort === abort) {
      underway = null;
    }
  }
}

function stopReading(): void {
  const abort = underway?.abort;
  underway = null;
  abort?.abort();
}

/** Reads them after all. */
export function readAgain(): void {
  batch(() => {
    isWanted.value = true;
    tries.value += 1;
  });
}

/** Asks for them while lines are shown. */
export function followBlocks(): () => void {
  return effect(() => {
    void namesGeneration.value;
    void tries.value;
    const [asked, reference, known] = [session.value, centre.value, facts.value];
    const mayHave = known === null ? isWithoutSamples.value : !isForcedName(known);
    if (!hasBranches.value || asked === null || reference === null || linesOf.value === null || !mayHave) {
      stopReading();
      blocks.value = null;
      return undefined;
    }
    const of = query.value;
    return ask(({ signal }) => blocksOf(asked, of, reference, signal, () => tell({ kind: "reading" })), tell, fail);
  });
}

/** Reads branches where they are not known, and says that it does. */
export async function blocksOf(
  session: Session,
  query: Query,
  reference: FunctionRef,
  signal: AbortSignal,
  onReading: () => void,
): Promise<Blocks | null> {
  const asked = (): Promise<BranchBlocks | null> => session.call("branchBlocks", { query, function: reference }, { signal });
  let found = await asked();
  if (found === null) {
    if (!isWanted.peek()) {
      return { kind: "cancelled" };
    }
    onReading();
    if (!(await read(session, query, signal))) {
      return isWanted.peek() ? null : { kind: "cancelled" };
    }
    found = await asked();
  }
  return found && { kind: "known", of: found };
}

function tell(answer: Blocks | null): void {
  blocks.value = answer;
}

function fail(error: unknown): void {
  if (!(error instanceof SessionError)) {
    throw error;
  }
  tell({ kind: "failed", why: error.message });
}
