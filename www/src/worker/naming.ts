// Offering files to the session and naming frames from those that it admits.

import type { ForceOutcome, OfferReport, Session, Source } from "../generated/perftab_web.js";
import type { DropReport, ProfileSlot, Rejection } from "../session/types.ts";
import { checkOpen } from "./scans.ts";
import type { Slices } from "./slices.ts";
import { BlobSource } from "./sources.ts";

/** Bytes that are read or unpacked before the clock is looked at. */
const OFFERED = 1 << 20;

const SLOTS: readonly ProfileSlot[] = ["first", "second"];

/** Offers files to each session, the first profile's first. One that any of them uses is used, whatever the others say of it. */
export async function admit(sessions: readonly Session[], files: readonly File[], slices: Slices): Promise<DropReport> {
  const report: DropReport = { used: [], notUsed: [], passedOver: 0 };
  const total = files.reduce((sum, file) => sum + file.size, 0) * sessions.length;
  let before = 0;
  for (const file of files) {
    const said: OfferReport[] = [];
    for (const session of sessions) {
      const breathe = (done: number): Promise<void> => slices.breathe({ stage: "offering", done: before + done, total });
      said.push(await offer(session, file.name, new BlobSource(file), breathe));
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
  const bySlot = SLOTS.flatMap((by, index) => (said[index] === undefined ? [] : [{ by, said: said[index] }]));
  const taken = new Map<string, DropReport["used"][number]>();
  for (const { by, said } of bySlot) {
    for (const file of said.used) {
      const before = taken.get(file.name);
      taken.set(file.name, { ...file, ...before, by: [...new Set([...(before?.by ?? []), by])] });
    }
  }
  report.used.push(...taken.values());
  const refused = new Map<string, DropReport["notUsed"][number]>();
  for (const { by, said } of bySlot) {
    for (const file of said.notUsed.filter(({ name }) => !taken.has(name))) {
      const before = refused.get(file.name);
      if (before === undefined || (isAnotherBuild(file.reason) && !isAnotherBuild(before.reason))) {
        refused.set(file.name, { ...file, by });
      }
    }
  }
  report.notUsed.push(...refused.values());
  report.passedOver += Math.min(...said.map(({ unrelated, others }) => unrelated + others));
}

function isAnotherBuild(reason: Rejection): boolean {
  return reason.kind === "nothing-recorded-has-it" && Boolean(reason.sameName);
}

/** What of it was used stays used, also where `breathe` ends the work. */
export async function offer(
  session: Session,
  name: string,
  source: Source,
  breathe: (done: number) => Promise<void>,
): Promise<OfferReport> {
  checkOpen(session);
  const offered = session.offer(name, source);
  try {
    for (;;) {
      checkOpen(session);
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
    checkOpen(session);
    const { done, total } = session.nameFrames(STEP);
    if (done >= total) {
      return;
    }
    await slices.breathe({ stage: "naming", done, total });
  }
}
