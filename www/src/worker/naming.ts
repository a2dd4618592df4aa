// Offering files to the session and naming frames from those that it admits.

import type { ForceOutcome, OfferReport, Session } from "../generated/perftab_web.js";
import type { DropReport } from "../session/types.ts";
import type { Slices } from "./slices.ts";
import { BlobSource } from "./sources.ts";

/** Bytes that are read or unpacked before the clock is looked at. */
const OFFERED = 1 << 20;

/** Offers files to each session. One that any of them uses is used, whatever the others say of it. */
export async function admit(sessions: readonly Session[], files: readonly File[], slices: Slices): Promise<DropReport> {
  const report: DropReport = { used: [], notUsed: [], passedOver: 0 };
  const total = files.reduce((sum, file) => sum + file.size, 0) * sessions.length;
  let before = 0;
  for (const file of files) {
    const said: OfferReport[] = [];
    for (const session of sessions) {
      said.push(await offer(session, file, (done) => slices.breathe({ stage: "offering", done: before + done, total })));
      before += file.size;
      // A folder has thousands of files that take one step each.
      await slices.breathe({ stage: "offering", done: before, total });
    }
    addUp(report, said);
  }
  for (const session of sessions) {
    await nameFrames(session, slices);
  }
  return report;
}

function addUp(report: DropReport, said: readonly OfferReport[]): void {
  const used = said.flatMap((each) => each.used);
  const isFirst = (name: string, index: number, names: string[]): boolean => names.indexOf(name) === index;
  const names = used.map(({ name }) => name).filter(isFirst);
  report.used.push(...names.flatMap((name) => used.find((each) => each.name === name) ?? []));
  // What the first says of a file that nobody uses is what the ledger, which is the first's, can explain.
  report.notUsed.push(...(said[0]?.notUsed ?? []).filter(({ name }) => !names.includes(name)));
  report.passedOver += Math.min(...said.map(({ unrelated, others }) => unrelated + others));
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
