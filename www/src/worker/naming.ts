// Offering files to the session and naming frames from those that it admits.

import type { Session } from "../generated/perftab_web.js";
import type { DropReport } from "../session/types.ts";
import type { Slices } from "./slices.ts";
import { BlobSource } from "./sources.ts";

export async function admit(session: Session, files: readonly File[], slices: Slices): Promise<DropReport> {
  const report: DropReport = { used: [], notUsed: [] };
  for (const [index, file] of files.entries()) {
    const admission = session.admit(file.name, new BlobSource(file));
    if (admission.outcome === "used") {
      report.used.push({ file: file.name, dsos: admission.dsos, gives: admission.gives });
    } else {
      report.notUsed.push({ file: file.name, reason: admission.reason, message: admission.message });
    }
    await slices.breathe({ stage: "offering", done: index + 1, total: files.length });
  }
  await nameFrames(session, slices);
  return report;
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
