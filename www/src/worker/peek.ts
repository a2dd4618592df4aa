// What is inside of compressed files, as far as their first bytes tell: a recording and a binary look alike from outside.

import { PackedText, unwrapFirst } from "../generated/perftab_web.js";
import type { Slices } from "./slices.ts";

/** Enough for the first block of any packer to give something; what gives nothing from that much is taken for nothing. */
const READ = 256 * 1024;

export async function peek(files: readonly File[], slices: Slices): Promise<Uint8Array[]> {
  const inside: Uint8Array[] = [];
  for (const file of files) {
    inside.push(unwrapFirst(await blockOf(file, 0).catch(() => new Uint8Array())));
    await slices.breathe({ stage: "offering", done: inside.length, total: files.length });
  }
  return inside;
}

async function blockOf(file: File, from: number): Promise<Uint8Array> {
  return new Uint8Array(await file.slice(from, from + READ).arrayBuffer());
}

/** The text in a packed file; null where it is not packed, or holds neither a link nor a saved page. */
export async function unpackText(file: File, slices: Slices): Promise<string | null> {
  let block = await blockOf(file, 0);
  const packed = PackedText.begin(block);
  if (packed === undefined) {
    return null;
  }
  try {
    for (let from = READ; block.length > 0; from += READ) {
      if (!packed.push(block)) {
        packed.free();
        return null;
      }
      await slices.breathe({ stage: "reading", done: Math.min(from, file.size), total: file.size });
      block = await blockOf(file, from);
    }
  } catch (error) {
    packed.free();
    throw error;
  }
  return packed.finish();
}
