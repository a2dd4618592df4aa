// Files that are given to all profiles that are open.

import type { OfferReport } from "../generated/perftab_web.js";
import type { DropReport, ProfileSlot, Rejection } from "../session/types.ts";
import type { ImagesSide } from "./images_side.ts";
import type { Slices } from "./slices.ts";

const SLOTS: readonly ProfileSlot[] = ["first", "second"];

/** Offers files to the images of each session, the first profile's first. One that any of them uses is used, whatever the others say of it. */
export async function admit(sides: readonly ImagesSide[], files: readonly File[], slices: Slices): Promise<DropReport> {
  const report: DropReport = { used: [], notUsed: [], passedOver: 0 };
  const given = files.map((file) => ({ name: file.name, bytes: file }));
  // If the files of one profile are lost, the other one has its names all the same.
  const offered = await Promise.allSettled(sides.map((side) => side.offer(given, slices)));
  const said = offered.map((each) => (each.status === "fulfilled" ? each.value : []));
  for (const index of files.keys()) {
    addUp(
      report,
      said.flatMap((reports) => reports[index] ?? []),
    );
  }
  // A part of a program's debug information may come before the program.
  const used = new Set(report.used.map(({ name }) => name));
  report.notUsed = report.notUsed.filter(({ name, reason }) => reason.kind !== "not-named-yet" || !used.has(name));
  for (const side of sides) {
    await side.nameFrames(slices);
  }
  for (const each of offered) {
    if (each.status === "rejected") {
      throw each.reason;
    }
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
