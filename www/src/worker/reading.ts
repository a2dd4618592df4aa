// Reading a recording: the session says which bytes it wants next, and they are streamed to it.

import type { Session } from "../generated/perftab_web.js";
import { Opening } from "../generated/perftab_web.js";
import type { Part } from "./part_reader.ts";
import { PartReader } from "./part_reader.ts";
import type { Slices } from "./slices.ts";
import { nextTask } from "./slices.ts";

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
  const readers = parts.map((part) => new PartReader(part, parts.length === 1 ? "stream" : "pieces"));
  try {
    await pump(reading, readers, slices);
  } catch (error) {
    opening.free();
    throw error;
  } finally {
    underway(null);
    readers.forEach((reader) => reader.close());
  }
  const session = opening.finish();
  await settle(session, slices);
  return session;
}

async function pump({ opening, stopped }: Reading, readers: readonly PartReader[], slices: Slices): Promise<void> {
  for (let wanted = opening.wants(); wanted !== null; wanted = opening.wants()) {
    const { part, offset, length } = wanted;
    const read = readers[part]?.read(offset, length);
    const block = await Promise.race([read, stopped]);
    if (block === "stopped") {
      // The read that is under way ends with its reader, and nobody waits for it any more.
      read?.catch(() => {});
      return;
    }
    // No bytes at all tell the session that the part ended early.
    opening.push(block ?? new Uint8Array(0));
    await slices.breathe({ stage: "reading", done: opening.done, total: opening.total });
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
