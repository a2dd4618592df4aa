// Code as instructions, for the worker that has the images: those say what its bytes are and what they were made of, another
// module decodes them. It is unpacked when somebody first looks at code.

import type { FunctionCode, Images, TextColumn } from "../generated/perftab_images_web.js";
import initListing, { Code, otherSource } from "../generated/perftab_listing_web.js";
import { decodeBase64 } from "../session/base64.ts";
import type { CodePiece, ListedCode, ReadSource } from "../session/types.ts";
import { NONE } from "../session/types.ts";
import type { DsoHeat, HowListed, ImagesProtocol } from "./images_protocol.ts";
import { unpackWasm } from "./packed_wasm.ts";
import type { Slices } from "./slices.ts";

/** Instructions of one function: the longest have tens of thousands. */
const MOST_INSTRUCTIONS = 1 << 17;
/** Texts that are made before the clock is looked at. */
const TEXTS = 1 << 11;
/** An instruction that leads nowhere. */
const NO_TARGET = 0xffff_ffff_ffff_ffffn;

let started: Promise<unknown> | null = null;

/** Begins the module that `packed` is, as the page has it. */
function start(packed: string): Promise<unknown> {
  started ??= initListing({ module_or_path: unpackWasm(decodeBase64(packed)) });
  return started;
}

/** Who has code: the files that matched, or what a process wrote of the code that it made. */
export interface CodeSource extends Pick<Images, "annotated" | "nameInFile"> {
  functionCode(dso: number, address: bigint): FunctionCode | null | Promise<FunctionCode | null>;
}

/** The code where the samples of a function ended in a DSO: it may be in several pieces of one name. */
export async function listCode(
  images: CodeSource,
  { dso, addresses, ...heat }: DsoHeat,
  { syntax, listing }: HowListed,
  slices: Slices,
): Promise<ListedCode> {
  const pieces: CodePiece[] = [];
  let [at, left] = [0, MOST_INSTRUCTIONS];
  while (at < addresses.length) {
    const found = await images.functionCode(dso, addresses[at] ?? 0n);
    await start(listing);
    slices.check();
    const code = found === null ? undefined : Code.decode(found.machine, found.startInFile, found.bytes, syntax);
    if (found === null || code === undefined) {
      return { pieces, ended: "no-code" };
    }
    try {
      const { starts } = code;
      left -= starts.length;
      while (left >= 0 && !code.step(TEXTS)) {
        await slices.breathe({ stage: "counting", done: 0 });
      }
      const rest = [addresses.subarray(at), heat.samples.subarray(at), heat.weights.subarray(at)] as const;
      const piece = left < 0 ? null : pieceOf(images, dso, found, code, rest);
      if (piece === null || piece.taken === 0) {
        return { pieces, ended: "too-long" };
      }
      pieces.push(piece);
      at += piece.taken;
    } finally {
      code.free();
    }
  }
  return { pieces, ended: null };
}

type Heat = readonly [addresses: BigUint64Array, samples: Float64Array, weights: Float64Array];

function pieceOf(images: CodeSource, dso: number, found: FunctionCode, code: Code, heat: Heat): CodePiece {
  const { start: first, startInFile, bytes, from } = found;
  const { starts, targets } = code;
  // Most lead to the same.
  const known = new Map<bigint, number>();
  const target = new Uint32Array(targets.length).fill(NONE);
  const goesTo = new Uint32Array(targets.length).fill(NONE);
  for (const [number, to] of targets.entries()) {
    if (to !== NO_TARGET) {
      target[number] = known.get(to) ?? known.size;
      known.set(to, target[number]);
      goesTo[number] = numberAt(starts, to - startInFile);
    }
  }
  const { references, ways } = code;
  const referred = new Map<string, { number: number; of: number }>();
  const refersTo = new Uint32Array(references.length).fill(NONE);
  for (const [number, at] of references.entries()) {
    if (at !== NO_TARGET) {
      const key = `${at} ${ways[number]}`;
      const found = referred.get(key) ?? { number: referred.size, of: number };
      referred.set(key, found);
      refersTo[number] = found.number;
    }
  }
  const of = Array.from(referred.values(), (found) => found.of);
  const annotated = images.annotated(
    dso,
    first,
    bytes.length,
    starts,
    ...heat,
    BigUint64Array.from(known.keys()),
    BigUint64Array.from(of, (number) => references[number] ?? NO_TARGET),
    Uint8Array.from(of, (number) => ways[number] ?? 0),
  );
  const texts: TextColumn = { texts: code.texts, ends: code.ends };
  return { ...annotated, dso, from, start: first, startInFile, bytes, starts, instructions: texts, target, refersTo, goesTo };
}

/** The instruction that begins there; NONE if none does. */
function numberAt(starts: Uint32Array, offset: bigint): number {
  let [from, to] = [0, starts.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (BigInt(starts[middle] ?? 0) < offset) {
      from = middle + 1;
    } else {
      to = middle;
    }
  }
  return from < starts.length && BigInt(starts[from] ?? 0) === offset ? from : NONE;
}

/** The instructions at addresses of a DSO, ascending; empty where no file has its code. */
export async function instructionsAt(
  images: CodeSource,
  { dso, addresses, how: { syntax, listing } }: ImagesProtocol["instructionsAt"]["args"],
  slices: Slices,
): Promise<string[]> {
  await start(listing);
  const texts: string[] = [];
  while (texts.length < addresses.length) {
    await slices.breathe({ stage: "counting", done: texts.length, total: addresses.length });
    const found = await images.functionCode(dso, addresses[texts.length] ?? 0n);
    const code = found === null ? undefined : Code.decode(found.machine, found.startInFile, found.bytes, syntax);
    if (found === null || code === undefined) {
      texts.push("");
      continue;
    }
    try {
      const end = found.start + BigInt(found.bytes.length);
      const of = addresses.subarray(texts.length);
      const next = of.findIndex((address) => address < found.start || address >= end);
      // Of a function the beginning is read.
      const own = next === -1 ? of : of.subarray(0, Math.max(next, 1));
      own.forEach((address) => code.addAround(address - found.start));
      texts.push(...instructionTexts(images, dso, code));
    } finally {
      code.free();
    }
  }
  return texts;
}

/** Those that were made, with the names of what they lead to. */
function instructionTexts(images: CodeSource, dso: number, { texts, ends, targets }: Code): string[] {
  const decoder = new TextDecoder();
  return Array.from(ends, (end, at) => {
    const text = decoder.decode(texts.subarray(at === 0 ? 0 : ends[at - 1], end));
    const target = targets[at] ?? NO_TARGET;
    const name = target === NO_TARGET ? undefined : images.nameInFile(dso, target);
    return name === undefined ? text : `${text} <${name}>`;
  });
}

/** What a source file holds, unless it is another one than was compiled. */
export async function readSource(file: File, md5: Uint8Array | null, packed: string): Promise<ReadSource> {
  const [bytes] = await Promise.all([file.arrayBuffer(), start(packed)]);
  const content = new Uint8Array(bytes);
  const why = otherSource(content, md5 ?? new Uint8Array()) ?? null;
  return { why, text: why === null ? sourceText(content) : "" };
}

/** As `core/listing` has it: UTF-16 begins with its mark. */
function sourceText(content: Uint8Array): string {
  const [first = 0, second = 0] = content;
  const wide = new Map([
    [0xfffe, "utf-16le"],
    [0xfeff, "utf-16be"],
  ]);
  return new TextDecoder(wide.get((first << 8) | second)).decode(content);
}
