// Offering files to the session and naming frames from those that it admits.

import type { ForceOutcome, OfferReport, Session } from "../generated/perftab_web.js";
import type { DropReport } from "../session/types.ts";
import type { Slices } from "./slices.ts";
import { BlobSource } from "./sources.ts";

/** Bytes that are read or unpacked before the clock is looked at. */
const OFFERED = 1 << 20;

export async function admit(session: Session, files: readonly File[], slices: Slices): Promise<DropReport> {
  const report: DropReport = { used: [], notUsed: [], passedOver: 0 };
  const total = files.reduce((sum, file) => sum + file.size, 0);
  let before = 0;
  for (const file of files) {
    const { used, notUsed, unrelated, others } = await offer(session, file, (done) =>
      slices.breathe({ stage: "offering", done: before + done, total }));
    report.used.push(...used);
    report.notUsed.push(...notUsed);
    report.passedOver += unrelated + others;
    before += file.size;
    // A folder has thousands of files that take one step each.
    await slices.breathe({ stage: "offering", done: before, total });
  }
  await nameFrames(session, slices);
  return report;
}

/** What of it was used stays used, also where `breathe` ends the work. */
async function offer(session: Session, file: File, breathe: (done: number) => Promise<void>): Promise<OfferReport> {
  const offered = session.offer(file.name, new BlobSource(file));
  try {
    for (;;) {
      const { done, report } = offered.step(session, OFFERED);
      if (report !== null) {
        return report;
      }
      await breathe(done);
    }
  } finally {
    offered.free();
  }
}

/** Names a DSO from a file that is not the one that ran. */
export async function force(session: Session, dso: number, file: File, slices: Slices): Promise<ForceOutcome> {
  const outcome = session.force(dso, file.name, new BlobSource(file));
  await nameFrames(session, slices);
  return outcome;
}

/** Frames named before the clock is looked at; a small part of a slice. */
const STEP = 256;

export async function nameFrames(session: Session, slices: Slices): Promise<void> {
  for (;;) {
    const { done, total } = session.nameFrames(STEP);
    if (done >= total) {
      return;
    }
    await slices.breathe({ stage: "naming", done, total });
  }
}
