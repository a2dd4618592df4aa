// The session's code as the page carries it: WebAssembly taken apart into streams, each of them LZMA. What indexes of local
// variables are like says nothing about constants or offsets, so this is a tenth smaller than LZMA of the whole.
//
// A file has the size of the module, then each stream with the size it is packed to before it: the module without the bodies
// of its functions, and what these consist of (web/streams/src/lib.rs takes it apart). How long a body is follows from
// what is in it. Damaged bytes give an error, or something that is no WebAssembly.

import { unpackLzma } from "./lzma.ts";

/**
 * The module without what functions do, but with the types of their variables; instructions with all that has no stream of
 * its own; and immediates of instructions. Constants are in three by how many bytes they have.
 */
const [REST, CODE, LOCALS, OFFSETS, LABELS, SMALL, MEDIUM, LARGE] = [0, 1, 2, 3, 4, 5, 6, 7];
const STREAMS = 8;

/** What else an immediate may be but a number of a stream. No immediate is of REST. */
const NONE = 0;
const FOUR_BYTES = 8;
const EIGHT_BYTES = 9;
/** A number, and as many more as it says, of LABELS. */
const LIST = 10;

/** Room for what is told to be larger is not made. */
const MOST = 1 << 26;
const CODE_SECTION = 10;
const [FIRST_BLOCK, LAST_BLOCK, END, CONSTANT, PREFIX] = [0x02, 0x04, 0x0b, 0x41, 0xfc];
/** A constant of two bytes, and one of more: opcodes that WebAssembly does not have. */
const [MEDIUM_CONSTANT, LARGE_CONSTANT] = [0xd8, 0xd9];

const DAMAGED = "WebAssembly that is damaged";

/** Both immediates of an instruction, by opcode; from one that is named here to another. What is not named has none. */
const IMMEDIATES = table([
  [0x02, 0x04, CODE, NONE],
  [0x0c, 0x0d, LABELS, NONE],
  [0x0e, 0x0e, LIST, LABELS],
  [0x10, 0x10, CODE, NONE],
  [0x11, 0x11, CODE, CODE],
  [0x1c, 0x1c, LIST, NONE],
  [0x20, 0x22, LOCALS, NONE],
  [0x23, 0x26, CODE, NONE],
  [0x28, 0x3e, CODE, OFFSETS],
  [0x3f, 0x40, CODE, NONE],
  [CONSTANT, CONSTANT, SMALL, NONE],
  [MEDIUM_CONSTANT, MEDIUM_CONSTANT, MEDIUM, NONE],
  [LARGE_CONSTANT, LARGE_CONSTANT, LARGE, NONE],
  [0x42, 0x42, CODE, NONE],
  [0x43, 0x43, FOUR_BYTES, NONE],
  [0x44, 0x44, EIGHT_BYTES, NONE],
  [0xd0, 0xd0, CODE, NONE],
  [0xd2, 0xd2, CODE, NONE],
]);

/** Of instructions with a second opcode behind PREFIX. */
const PREFIXED = table([
  [0x08, 0x11, CODE, NONE],
  [0x08, 0x08, CODE, CODE],
  [0x0a, 0x0a, CODE, CODE],
  [0x0c, 0x0c, CODE, CODE],
  [0x0e, 0x0e, CODE, CODE],
]);

function table(ranges: [from: number, to: number, first: number, second: number][]): Uint8Array {
  const pairs = new Uint8Array(2 * 256);
  for (const [from, to, first, second] of ranges) {
    for (let opcode = from; opcode <= to; opcode++) {
      pairs.set([first, second], 2 * opcode);
    }
  }
  return pairs;
}

/** The module that a file holds. */
export function unpackWasm(file: Uint8Array): Uint8Array<ArrayBuffer> {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const streams: Uint8Array[] = [];
  let at = 4;
  while (streams.length < STREAMS) {
    const end = at + 4 + view.getUint32(at, true);
    const known = streams.length === REST ? knownTables() : undefined;
    streams.push(unpackLzma(file.subarray(at + 4, end), known));
    at = end;
  }
  return joined(streams, view.getUint32(0, true));
}

/**
 * What the module's data begins as if it had before it: tables of libraries that no packing makes smaller, of CRC-32, CRC-64
 * and bzip2's CRC-32, of powers of ten, and of numbers whose bits are reversed.
 */
function knownTables(): Uint8Array<ArrayBuffer> {
  const crc32 = new Uint32Array(16 * 256);
  const crc64 = new BigUint64Array(256);
  const bzip2 = new Uint32Array(256);
  for (let byte = 0; byte < 256; byte++) {
    let [short, long, reversed] = [byte, BigInt(byte), byte << 24];
    for (let bit = 0; bit < 8; bit++) {
      short = (short >>> 1) ^ (short & 1 ? 0xedb88320 : 0);
      long = (long >> 1n) ^ (long & 1n ? 0xc96c5795d7870f42n : 0n);
      reversed = (reversed << 1) ^ (reversed < 0 ? 0x04c11db7 : 0);
    }
    [crc32[byte], crc64[byte], bzip2[byte]] = [short, long, reversed];
  }
  // Of a byte that others follow.
  for (let place = 256; place < crc32.length; place++) {
    const before = crc32[place - 256] as number;
    crc32[place] = (before >>> 8) ^ (crc32[before & 0xff] as number);
  }
  const powers = Float64Array.from({ length: 309 }, (_, exponent) => Number(`1e${exponent}`));
  const mirrored = new Uint16Array(512);
  for (let number = 1; number < mirrored.length; number++) {
    mirrored[number] = ((mirrored[number >> 1] as number) >> 1) | ((number & 1) << 15);
  }
  return Uint8Array.from([crc32, crc64, bzip2, powers, mirrored].flatMap((table) => [...new Uint8Array(table.buffer)]));
}

/** The module of so many bytes that was taken apart into these. */
export function joined(streams: readonly Uint8Array[], size: number): Uint8Array<ArrayBuffer> {
  if (size > MOST) {
    throw new Error(DAMAGED);
  }
  const module = new Module(streams, size);
  module.bytes(REST, 8);
  for (let section = 0; section !== CODE_SECTION; ) {
    section = module.number(REST);
    const length = module.number(REST);
    if (section !== CODE_SECTION) module.bytes(REST, length);
  }
  for (let left = module.number(REST); left > 0; left--) {
    module.body();
  }
  module.bytes(REST, size);
  return module.whole();
}

/** A module that grows. Whatever is written beyond its end is dropped. */
class Module {
  readonly #streams: readonly Uint8Array[];
  /** How far each stream is used up. */
  readonly #used = new Uint32Array(STREAMS);
  readonly #out: Uint8Array<ArrayBuffer>;
  #at = 0;

  constructor(streams: readonly Uint8Array[], size: number) {
    this.#streams = streams;
    this.#out = new Uint8Array(size);
  }

  whole(): Uint8Array<ArrayBuffer> {
    if (this.#at !== this.#out.length) {
      throw new Error(DAMAGED);
    }
    return this.#out;
  }

  /** So many bytes, or what there is. */
  bytes(stream: number, count: number): void {
    const from = this.#used[stream] as number;
    const bytes = (this.#streams[stream] as Uint8Array).subarray(from, from + count);
    if (bytes.length > this.#out.length - this.#at) {
      throw new Error(DAMAGED);
    }
    this.#out.set(bytes, this.#at);
    this.#at += bytes.length;
    this.#used[stream] = from + bytes.length;
  }

  /** A number as WebAssembly writes it: seven bits in each byte, the lowest first. */
  number(stream: number): number {
    const bytes = this.#streams[stream] as Uint8Array;
    let from = this.#used[stream] as number;
    let number = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[from++];
      if (byte === undefined) {
        throw new Error(DAMAGED);
      }
      this.#out[this.#at++] = byte;
      number |= (byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    this.#used[stream] = from;
    return number >>> 0;
  }

  /** The body of a function, and before it how long that is. */
  body(): void {
    const start = this.#at;
    // Local variables: pairs of a count and a type.
    this.#numbers(REST, 2 * this.number(REST));
    for (let depth = 1; depth > 0; ) {
      const opcode = this.#byte();
      if (opcode >= FIRST_BLOCK && opcode <= LAST_BLOCK) depth++;
      else if (opcode === END) depth--;
      else if (opcode === MEDIUM_CONSTANT || opcode === LARGE_CONSTANT) this.#out[this.#at - 1] = CONSTANT;
      if (opcode === PREFIX) this.#immediates(PREFIXED, this.number(CODE));
      else this.#immediates(IMMEDIATES, opcode);
    }
    const length = numberOf(this.#at - start);
    this.#out.copyWithin(start + length.length, start, this.#at);
    this.#out.set(length, start);
    this.#at += length.length;
  }

  #byte(): number {
    const from = this.#used[CODE] as number;
    const byte = (this.#streams[CODE] as Uint8Array)[from];
    if (byte === undefined) {
      throw new Error(DAMAGED);
    }
    this.#used[CODE] = from + 1;
    this.#out[this.#at++] = byte;
    return byte;
  }

  #immediates(table: Uint8Array, opcode: number): void {
    const first = table[2 * opcode] as number;
    if (first === NONE) return;
    this.#immediate(first);
    const second = table[2 * opcode + 1] as number;
    if (second !== NONE) this.#immediate(second);
  }

  #immediate(kind: number): void {
    if (kind < STREAMS) this.number(kind);
    else if (kind === LIST) this.#numbers(LABELS, this.number(LABELS));
    else this.bytes(CODE, kind === FOUR_BYTES ? 4 : 8);
  }

  #numbers(stream: number, count: number): void {
    for (let left = count; left > 0; left--) {
      this.number(stream);
    }
  }
}

function numberOf(rest: number): number[] {
  return rest < 0x80 ? [rest] : [(rest & 0x7f) | 0x80, ...numberOf(rest >>> 7)];
}
