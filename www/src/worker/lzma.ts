// LZMA, as `xz --format=lzma` writes it. The streams of the session's code (packed_wasm.ts) are a quarter smaller in it
// than in gzip, which browsers unpack themselves.
//
// After the specification of the format in the LZMA SDK. Positions decide nothing here (`lp` and `pb` are 0). Damaged bytes
// give an error, or something that is no WebAssembly.

const HEADER = 13;
/** Room for what is told to be larger is not made. */
const MOST = 1 << 26;
/** What the last symbols were. From AFTER_MATCH on the last one was no literal. */
const STATES = 12;
const AFTER_MATCH = 7;
const LENGTHS = 2 + 8 + 8 + 256;
/** From this slot on, the odds of most bits of a distance are even. */
const FAR = 14;

const DAMAGED = "LZMA that is damaged";

/** For each bit, of 2048 how often it is 0. */
type Odds = Uint16Array<ArrayBuffer>;

const unknown = (count: number): Odds => new Uint16Array(count).fill(1024);

const NOTHING = new Uint8Array();

/** What a file of this format holds. It may copy from what was known before. */
export function unpackLzma(file: Uint8Array, known = NOTHING): Uint8Array<ArrayBuffer> {
  const unpacking = new Unpacking(file, known);
  while (unpacking.isPart()) {
    unpacking.next(MOST);
  }
  return unpacking.whole();
}

/** Unpacks a file in parts, so that its caller may do something else meanwhile. As a generator it took a fifth longer. */
export class Unpacking {
  readonly #out: Uint8Array<ArrayBuffer>;
  readonly #known: number;
  readonly #bits: Bits;
  readonly #contextBits: number;
  readonly #literals: Odds;
  readonly #isMatch = unknown(STATES);
  readonly #isOld = unknown(STATES);
  readonly #isNotFirst = unknown(STATES);
  readonly #isLong = unknown(STATES);
  readonly #isNotSecond = unknown(STATES);
  readonly #isNotThird = unknown(STATES);
  readonly #lengths = unknown(LENGTHS);
  readonly #oldLengths = unknown(LENGTHS);
  readonly #slots = unknown(4 * 64);
  readonly #near = unknown(128);
  readonly #far = unknown(16);
  /** The distances that were used last, each one less than it is. */
  #distances: [number, number, number, number] = [0, 0, 0, 0];
  #state = 0;
  #at: number;

  constructor(file: Uint8Array, known = NOTHING) {
    if (file.length < HEADER + 5) {
      throw new Error(DAMAGED);
    }
    const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
    this.#contextBits = view.getUint8(0);
    const size = Number(view.getBigUint64(5, true));
    if (this.#contextBits > 8 || size > MOST) {
      throw new Error("LZMA of a kind that the page does not use");
    }
    this.#out = new Uint8Array(known.length + size);
    this.#out.set(known);
    this.#known = known.length;
    this.#at = known.length;
    this.#bits = new Bits(file);
    this.#literals = unknown(0x300 << this.#contextBits);
  }

  isPart(): boolean {
    return this.#at < this.#out.length;
  }

  /** Unpacks so many bytes more, and the rest of the symbol that the last one is of. */
  next(count: number): void {
    const [out, bits, contextBits, literals] = [this.#out, this.#bits, this.#contextBits, this.#literals];
    const [isMatch, isOld, isNotFirst] = [this.#isMatch, this.#isOld, this.#isNotFirst];
    const [isLong, isNotSecond, isNotThird] = [this.#isLong, this.#isNotSecond, this.#isNotThird];
    const [lengths, oldLengths] = [this.#lengths, this.#oldLengths];
    const [slots, near, far] = [this.#slots, this.#near, this.#far];
    let [first, second, third, fourth] = this.#distances;
    let [state, at] = [this.#state, this.#at];
    const until = Math.min(at + count, out.length);
    while (at < until) {
      const source = at - first - 1;
      if (bits.one(isMatch, state) === 0) {
        const context = 0x300 * ((at > 0 ? (out[at - 1] as number) : 0) >> (8 - contextBits));
        const expected = out[source] as number;
        out[at++] = state < AFTER_MATCH ? bits.tree(literals, context, 8) : bits.treeBeside(literals, context, expected);
        state = state < 4 ? 0 : state < 10 ? state - 3 : state - 6;
        continue;
      }
      let length: number;
      if (bits.one(isOld, state) === 0) {
        [second, third, fourth] = [first, second, third];
        length = lengthOf(bits, lengths);
        first = distanceOf(bits, slots, near, far, length);
        state = state < AFTER_MATCH ? 7 : 10;
      } else {
        if (bits.one(isNotFirst, state) === 0) {
          if (bits.one(isLong, state) === 0) {
            out[at++] = out[source] as number;
            state = state < AFTER_MATCH ? 9 : 11;
            continue;
          }
        } else if (bits.one(isNotSecond, state) === 0) {
          [first, second] = [second, first];
        } else if (bits.one(isNotThird, state) === 0) {
          [first, second, third] = [third, first, second];
        } else {
          [first, second, third, fourth] = [fourth, first, second, third];
        }
        length = lengthOf(bits, oldLengths);
        state = state < AFTER_MATCH ? 8 : 11;
      }
      if (first >= at) {
        throw new Error(DAMAGED);
      }
      // Byte by byte: what is copied may be part of the copy.
      for (const end = Math.min(at + length, out.length); at < end; at++) {
        out[at] = out[at - first - 1] as number;
      }
    }
    this.#distances = [first, second, third, fourth];
    this.#state = state;
    this.#at = at;
  }

  whole(): Uint8Array<ArrayBuffer> {
    if (this.#bits.isOver()) {
      throw new Error(DAMAGED);
    }
    return this.#out.subarray(this.#known);
  }
}

function lengthOf(bits: Bits, odds: Odds): number {
  if (bits.one(odds, 0) === 0) return 2 + bits.tree(odds, 1, 3);
  if (bits.one(odds, 1) === 0) return 10 + bits.tree(odds, 9, 3);
  return 18 + bits.tree(odds, 17, 8);
}

/** One less than it is. */
function distanceOf(bits: Bits, slots: Odds, near: Odds, far: Odds, length: number): number {
  const slot = bits.tree(slots, 64 * Math.min(length - 2, 3), 6);
  if (slot < 4) return slot;
  const count = (slot >> 1) - 1;
  const least = (2 | (slot & 1)) << count;
  if (slot < FAR) return least + bits.treeReversed(near, least - slot, count);
  return least + (bits.even(count - 4) << 4) + bits.treeReversed(far, 0, 4);
}

/** Bits of a file, each decoded with its odds, which it moves. */
class Bits {
  readonly #file: Uint8Array;
  #at = HEADER + 5;
  /** The range that is left, and where in it the file is. An engine holds numbers of 32 bits elsewhere as floats. */
  readonly #now = new Uint32Array(2);

  constructor(file: Uint8Array) {
    this.#file = file;
    this.#now[0] = 0xffffffff;
    this.#now[1] = new DataView(file.buffer, file.byteOffset).getUint32(HEADER + 1);
  }

  /** Whether more was read than there is. */
  isOver(): boolean {
    return this.#at > this.#file.length;
  }

  /** As a tree of one bit. Its loop made unpacking a sixth slower. */
  one(odds: Odds, place: number): number {
    const now = this.#now;
    const chance = odds[place] as number;
    const range = now[0] as number;
    const code = now[1] as number;
    const bound = (range >>> 11) * chance;
    const bit = code < bound ? 0 : 1;
    let left = bound;
    if (bit === 0) {
      odds[place] = chance + ((2048 - chance) >> 5);
    } else {
      left = range - bound;
      now[1] = code - bound;
      odds[place] = chance - (chance >> 5);
    }
    if (left < 0x1000000) {
      left <<= 8;
      now[1] = ((now[1] as number) << 8) | (this.#file[this.#at++] as number);
    }
    now[0] = left;
    return bit;
  }

  /** A number of so many bits, the highest first; what came before decides on the odds of each. */
  tree(odds: Odds, from: number, count: number): number {
    let range = this.#now[0] as number;
    let code = this.#now[1] as number;
    let node = 1;
    for (let left = count; left > 0; left--) {
      const place = from + node;
      const chance = odds[place] as number;
      const bound = (range >>> 11) * chance;
      node <<= 1;
      if (code < bound) {
        range = bound;
        odds[place] = chance + ((2048 - chance) >> 5);
      } else {
        range -= bound;
        code -= bound;
        odds[place] = chance - (chance >> 5);
        node |= 1;
      }
      if (range < 0x1000000) {
        range = (range << 8) >>> 0;
        code = ((code << 8) | (this.#file[this.#at++] as number)) >>> 0;
      }
    }
    this.#now[0] = range;
    this.#now[1] = code;
    return node - (1 << count);
  }

  /** A byte, whose bits have other odds while they are those of a byte that is expected. */
  treeBeside(odds: Odds, from: number, expected: number): number {
    let node = 1;
    let isSame = true;
    for (let shift = 7; shift >= 0; shift--) {
      const bit = (expected >> shift) & 1;
      const of = isSame ? from + ((1 + bit) << 8) : from;
      const found = this.one(odds, of + node);
      node = (node << 1) | found;
      isSame &&= found === bit;
    }
    return node - 256;
  }

  /** As `tree`, the lowest bit first. */
  treeReversed(odds: Odds, from: number, count: number): number {
    let node = 1;
    let number = 0;
    for (let shift = 0; shift < count; shift++) {
      const bit = this.one(odds, from + node);
      node = (node << 1) | bit;
      number |= bit << shift;
    }
    return number;
  }

  /** A number of so many bits, each of which is as often 0 as 1. */
  even(count: number): number {
    let range = this.#now[0] as number;
    let code = this.#now[1] as number;
    let number = 0;
    for (let left = count; left > 0; left--) {
      range >>>= 1;
      const bit = code < range ? 0 : 1;
      code -= bit * range;
      number = (number << 1) | bit;
      if (range < 0x1000000) {
        range = (range << 8) >>> 0;
        code = ((code << 8) | (this.#file[this.#at++] as number)) >>> 0;
      }
    }
    this.#now[0] = range;
    this.#now[1] = code;
    return number;
  }
}
