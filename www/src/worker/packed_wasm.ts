// The session's code as the page carries it: WebAssembly taken apart into streams, each of them LZMA. What indexes of local
// variables are like says nothing about constants or offsets, so this is a tenth smaller than LZMA of the whole.
//
// A file has the size of the module, then each stream with the size it is packed to before it: the module without the bodies
// of its functions, and what these consist of (web/streams/src/lib.rs takes it apart). How long a body is follows from
// what is in it. Damaged bytes give an error, or something that is no WebAssembly.

import { unpackLzma } from "./lzma.ts";

/**
 * The module without what functions do, but with the types of their variables; instructions with all that has no stream of
 * its own; and immediates of instructions. Local variables and constants are in several by the instruction that follows them,
 * labels by the one that they are of, constants also by how many bytes they have.
 */
const [REST, CODE, LOCALS, ADDRESSES, STORED, OFFSETS, JUMPS] = [0, 1, 2, 3, 4, 5, 6];
const [BRANCHES, TABLES, SMALL, ADDED, OPERANDS, MEDIUM, LARGE] = [7, 8, 9, 10, 11, 12, 13];
const STREAMS = 14;

/** What else an immediate may be but a number of a stream. No immediate is of REST. */
const NONE = 0;
const FOUR_BYTES = 14;
const EIGHT_BYTES = 15;
/** A number, and as many more as it says, of CODE or of TABLES. */
const TYPES = 16;
const LIST = 17;
/** That a block has no type, and how a load or store is usually aligned: the opcode tells. */
const NO_TYPE = 18;
const ALIGNMENT = 19;

/** Room for what is told to be larger is not made. */
const MOST = 1 << 26;
const CODE_SECTION = 10;
const [FIRST_BLOCK, LAST_BLOCK, END, CONSTANT, PREFIX] = [0x02, 0x04, 0x0b, 0x41, 0xfc];
const [LOAD, STORE, LAST_STORE] = [0x28, 0x36, 0x3e];
/** What a constant is computed with: added, or from the first comparison to the last operator of 32 bits. */
const [ADD, FIRST_OPERATOR, LAST_OPERATOR] = [0x6a, 0x46, 0x7f];
/** What stands for a block without type. */
const VOID = 0x40;
/** Opcodes that WebAssembly does not have: a constant of two bytes, and one of more, */
const [MEDIUM_CONSTANT, LARGE_CONSTANT] = [0xd8, 0xd9];
/** a load or store at another alignment, from 0xda on, and a block with a type, from 0xf1 on. */
const [UNALIGNED, TYPED] = [0xda - LOAD, 0xf1 - FIRST_BLOCK];
/** An offset of two bytes or more is how far it is from the last: in one byte, in two; or a number behind WHOLE. */
const [NEAR, FAR, WHOLE] = [0x80, 0xc0, 0xff];

/** By how many powers of two, from LOAD to LAST_STORE. */
const ALIGNMENTS = [2, 3, 2, 3, 0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 2, 3, 2, 3, 0, 1, 0, 1, 2];

const DAMAGED = "WebAssembly that is damaged";

/** Both immediates of an instruction, by opcode; from one that is named here to another. What is not named has none. */
const IMMEDIATES = table([
  [FIRST_BLOCK, LAST_BLOCK, NO_TYPE, NONE],
  [FIRST_BLOCK + TYPED, LAST_BLOCK + TYPED, CODE, NONE],
  [0x0c, 0x0c, JUMPS, NONE],
  [0x0d, 0x0d, BRANCHES, NONE],
  [0x0e, 0x0e, LIST, TABLES],
  [0x10, 0x10, CODE, NONE],
  [0x11, 0x11, CODE, CODE],
  [0x1c, 0x1c, TYPES, NONE],
  [0x20, 0x22, LOCALS, NONE],
  [0x23, 0x26, CODE, NONE],
  [LOAD, LAST_STORE, ALIGNMENT, OFFSETS],
  [LOAD + UNALIGNED, LAST_STORE + UNALIGNED, CODE, OFFSETS],
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

/** The opcode as the module has it, by the one that its stream has. */
const WRITTEN = Uint8Array.from({ length: 256 }, (_, opcode) => {
  if (opcode === MEDIUM_CONSTANT || opcode === LARGE_CONSTANT) return CONSTANT;
  if (opcode >= LOAD + UNALIGNED && opcode <= LAST_STORE + UNALIGNED) return opcode - UNALIGNED;
  if (opcode >= FIRST_BLOCK + TYPED && opcode <= LAST_BLOCK + TYPED) return opcode - TYPED;
  return opcode;
});

/** The streams of a local variable and of a small constant, by the opcode that follows. */
const LOCALS_BEFORE = new Uint8Array(256).fill(LOCALS);
LOCALS_BEFORE.fill(ADDRESSES, LOAD, STORE).fill(STORED, STORE, LAST_STORE + 1);
const SMALL_BEFORE = new Uint8Array(256).fill(SMALL);
SMALL_BEFORE.fill(OPERANDS, FIRST_OPERATOR, LAST_OPERATOR + 1)[ADD] = ADDED;

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
  /** The last offsets of more than a byte: of what was loaded, and of what was stored. */
  readonly #last = new Uint32Array(2);

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
    this.#last.fill(0);
    // Local variables: pairs of a count and a type.
    this.#numbers(REST, 2 * this.number(REST));
    for (let depth = 1; depth > 0; ) {
      const opcode = this.#byte(CODE);
      const written = WRITTEN[opcode] as number;
      this.#out[this.#at++] = written;
      if (written >= FIRST_BLOCK && written <= LAST_BLOCK) depth++;
      else if (written === END) depth--;
      if (opcode === PREFIX) this.#immediates(PREFIXED, this.number(CODE), written);
      else this.#immediates(IMMEDIATES, opcode, written);
    }
    const length = numberOf(this.#at - start);
    this.#out.copyWithin(start + length.length, start, this.#at);
    this.#out.set(length, start);
    this.#at += length.length;
  }

  #byte(stream: number): number {
    const from = this.#used[stream] as number;
    const byte = (this.#streams[stream] as Uint8Array)[from];
    if (byte === undefined) {
      throw new Error(DAMAGED);
    }
    this.#used[stream] = from + 1;
    return byte;
  }

  #nextOpcode(): number {
    const next = (this.#streams[CODE] as Uint8Array)[this.#used[CODE] as number];
    return WRITTEN[next ?? 0] as number;
  }

  #immediates(table: Uint8Array, opcode: number, written: number): void {
    const first = table[2 * opcode] as number;
    if (first === NONE) return;
    this.#immediate(first, written);
    const second = table[2 * opcode + 1] as number;
    if (second === OFFSETS) this.#offset(written < STORE ? 0 : 1);
    else if (second !== NONE) this.#immediate(second, written);
  }

  #immediate(kind: number, written: number): void {
    if (kind === LOCALS) this.number(LOCALS_BEFORE[this.#nextOpcode()] as number);
    else if (kind === SMALL) this.number(SMALL_BEFORE[this.#nextOpcode()] as number);
    else if (kind === LARGE) this.#large();
    else if (kind < STREAMS) this.number(kind);
    else if (kind === ALIGNMENT) this.#out[this.#at++] = ALIGNMENTS[written - LOAD] as number;
    else if (kind === NO_TYPE) this.#out[this.#at++] = VOID;
    else if (kind === LIST) this.#numbers(TABLES, this.number(TABLES));
    else if (kind === TYPES) this.#numbers(CODE, this.number(CODE));
    else this.bytes(CODE, kind === FOUR_BYTES ? 4 : 8);
  }

  /** Four bytes, the highest first. The last byte of what is written has the sign. */
  #large(): void {
    let number = 0;
    for (let left = 4; left > 0; left--) {
      number = (number << 8) | this.#byte(LARGE);
    }
    for (; number < -0x40 || number >= 0x40; number >>= 7) {
      this.#out[this.#at++] = (number & 0x7f) | 0x80;
    }
    this.#out[this.#at++] = number & 0x7f;
  }

  #offset(kind: number): void {
    const first = this.#byte(OFFSETS);
    if (first < NEAR) {
      this.#out[this.#at++] = first;
      return;
    }
    if (first === WHOLE) {
      this.#last[kind] = this.number(OFFSETS);
      return;
    }
    const folded = first < FAR ? first - NEAR : FAR - NEAR + ((first - FAR) << 8) + this.#byte(OFFSETS);
    let rest = ((this.#last[kind] as number) + ((folded >> 1) ^ -(folded & 1))) >>> 0;
    this.#last[kind] = rest;
    for (; rest >= 0x80; rest >>>= 7) {
      this.#out[this.#at++] = (rest & 0x7f) | 0x80;
    }
    this.#out[this.#at++] = rest;
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
