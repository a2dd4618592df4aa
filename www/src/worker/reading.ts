// Reading a recording: the session says which bytes it wants next, and they are streamed to it.

import type { Session } from "../generated/perftab_web.js";
import { KeptUnwinding, Opening, Rereading } from "../generated/perftab_web.js";
import type { Progress, Query } from "../session/types.ts";
import type { Part } from "./part_reader.ts";
import { PartReader } from "./part_reader.ts";
import type { Slices } from "./slices.ts";
import { nextTask } from "./slices.ts";

/** So many take some milliseconds. */
const STACKS_AT_ONCE = 1000;

/** A recording that is being read. */
export class Reading {
  readonly opening: Opening;
  /** Resolves when no more of it is wanted. */
  readonly stopped: Promise<"stopped">;
  stop = (): void => {};

  constructor(opening: Opening) {
    this.opening = opening;
    this.stopped = new Promise((resolve) => {
      this.stop = () => resolve("stopped");
    });
  }
}

/** Is told what is being read, for whoever looks at it before its end; and null once it is read, or is not. */
export type Underway = (reading: Reading | null) => void;

/** `parts` is the one file; of a recording that is a folder `data` first, then its streams. */
export async function read(parts: readonly Part[], slices: Slices, underway: Underway = () => {}): Promise<Session> {
  const opening = new Opening(parts.map(({ source }) => source));
  const reading = new Reading(opening);
  underway(reading);
  try {
    await pump(opening, "reading", parts, slices, reading.stopped);
  } catch (error) {
    opening.free();
    throw error;
  } finally {
    underway(null);
  }
  const session = opening.finish();
  await settle(session, slices);
  return session;
}

/** Unwinds the stacks of a session, if it `isOpen` at the end; whether any could be. The recording is read once more if need be. */
export async function unwind(session: Session, parts: readonly Part[], slices: Slices, isOpen: () => void): Promise<boolean> {
  isOpen();
  const kept = KeptUnwinding.of(session);
  if (kept !== undefined) {
    await unwindKept(kept, session, slices, isOpen);
    return true;
  }
  const unwinding = Rereading.unwinding(
    session,
    parts.map(({ source }) => source),
  );
  return unwinding !== undefined && (await reread(unwinding, session, "unwinding", parts, slices, isOpen));
}

async function unwindKept(kept: KeptUnwinding, session: Session, slices: Slices, isOpen: () => void): Promise<void> {
  try {
    for (let progress = kept.step(STACKS_AT_ONCE); progress !== null; progress = kept.step(STACKS_AT_ONCE)) {
      await slices.breathe({ stage: "unwinding", ...progress });
    }
    isOpen();
  } catch (error) {
    kept.free();
    throw error;
  }
  kept.finish(session);
}

/** Reads the recording of a session once more for the branches that a query's filters leave. */
export async function readBranches(
  session: Session,
  query: Query,
  parts: readonly Part[],
  slices: Slices,
  isOpen: () => void,
): Promise<void> {
  const sources = parts.map(({ source }) => source);
  let isKept = false;
  while (!isKept) {
    isOpen();
    isKept = await reread(Rereading.branches(session, query, sources), session, "reading", parts, slices, isOpen);
  }
}

async function reread(
  rereading: Rereading,
  session: Session,
  stage: Progress["stage"],
  parts: readonly Part[],
  slices: Slices,
  isOpen: () => void,
): Promise<boolean> {
  try {
    await pump(rereading, stage, parts, slices);
    isOpen();
  } catch (error) {
    rereading.free();
    throw error;
  }
  return rereading.finish(session);
}

/** Pushes all that is wanted, until somebody has had enough. */
async function pump(
  into: Pick<Opening, "wants" | "push" | "done" | "total">,
  stage: Progress["stage"],
  parts: readonly Part[],
  slices: Slices,
  stopped: Promise<"stopped"> = new Promise(() => {}),
): Promise<void> {
  const readers = parts.map((part) => new PartReader(part, parts.length === 1 ? "stream" : "pieces"));
  try {
    for (let wanted = into.wants(); wanted !== null; wanted = into.wants()) {
      const { part, offset, length } = wanted;
      const read = readers[part]?.read(offset, length);
      const block = await Promise.race([read, stopped]);
      if (block === "stopped") {
        // The read that is under way ends with its reader, and nobody waits for it any more.
        read?.catch(() => {});
        return;
      }
      // No bytes at all tell the session that the part ended early.
      into.push(block ?? new Uint8Array(0));
      await slices.breathe({ stage, done: into.done, total: into.total });
    }
  } finally {
    readers.forEach((reader) => reader.close());
  }
}

/** Finishing takes a while and hears nothing: a cancel that came meanwhile still counts. */
async function settle(session: Session, slices: Slices): Promise<void> {
  await nextTask();
  try {
    slices.check();
  } catch (error) {
    session.free();
    throw error;
  }
}
