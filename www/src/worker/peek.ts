// What is inside of compressed files, as far as their first bytes tell: a recording and a binary look alike from outside.

import { unwrapFirst } from "../generated/perftab_web.js";
import type { Slices } from "./slices.ts";

/** Enough for the first block of any packer to give something; what gives nothing from that much is taken for nothing. */
const READ = 256 * 1024;

export async function peek(files: readonly File[], slices: Slices): Promise<Uint8Array[]> {
  const inside: Uint8Array[] = [];
  for (const file of files) {
    const first = await file.slice(0, READ).arrayBuffer().catch(() => new ArrayBuffer(0));
    inside.push(unwrapFirst(new Uint8Array(first)));
    await slices.breathe({ stage: "offering", done: inside.length, total: files.length });
  }
  return inside;
}
