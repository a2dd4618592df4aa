// Files of other tools: written in steps, between which a cancel arrives. What is written leaves WebAssembly's memory,
// which only grows, at once.

import type { ExportRequest, Session } from "../generated/perftab_web.js";
import { checkOpen } from "./scans.ts";
import type { Slices } from "./slices.ts";

/** Pieces of work before the clock is looked at; a few milliseconds. */
const PIECES = 1 << 13;
/** Bytes that are kept in one part of a Blob: a Blob of very many small parts is slow. */
const PART = 4_000_000;

export async function exported(session: Session, request: ExportRequest, slices: Slices): Promise<Blob> {
  const work = session.export(request);
  let blob = new Blob();
  let parts: Uint8Array<ArrayBuffer>[] = [];
  let held = 0;
  try {
    for (;;) {
      checkOpen(session);
      const { done, total, bytes, isLast } = work.step(session, PIECES);
      parts.push(bytes);
      held += bytes.length;
      if (isLast || held > PART) {
        blob = new Blob([blob, ...parts]);
        parts = [];
        held = 0;
      }
      if (isLast) {
        return blob;
      }
      await slices.breathe({ stage: "writing", done, total });
    }
  } finally {
    work.free();
  }
}
