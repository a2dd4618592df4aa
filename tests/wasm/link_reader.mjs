// A reader of links, written from docs/snapshot-v1.md and nothing else: whether that suffices is what it is for. It reads
// the call tree and its names; slow, and believing whatever it is given.
import { readFileSync } from "node:fs";
import { inflateRawSync } from "node:zlib";

const WORDS = new URL("../../core/snapshot/src/coder/words.txt", import.meta.url);

/** Streams of each kind; all others are numbers. */
const TEXTS = new Set([1, 3, 5, 13, 34, 52, 56, 57]);
const NOISE = new Set([11, 45]);
const SHARED = new Set([7, 17, 19, 24, 37]);
const SORTED = new Set([8, 18, 20, 25, 38]);
const SUMS = new Set([30, 31]);
const [TREE, PAIRS, FUNCTIONS, LINES] = [26, 27, 28, 29];
const [PROCESS, ROOT] = [2n ** 64n - 1n, 2n ** 64n - 2n];

/** The streams of a payload: numbers as BigInt, texts as strings, noise as bytes. */
export function streamsOf(payload) {
  const bytes = Buffer.from(/^p1\.([\w-]+)/.exec(payload)[1], "base64url");
  if (bytes[0] !== 1 || bytes.readUInt32LE(1) !== bytes.length) throw new Error("not a whole link");
  const sum = crc32(Buffer.concat([bytes.subarray(0, 5), bytes.subarray(9)]));
  if (sum !== bytes.readUInt32LE(5)) throw new Error("a changed link");
  return bytes[9] === 0 ? inflated(bytes.subarray(10)) : modelled(bytes.subarray(10));
}

/** As in gzip; older Node has none. */
function crc32(bytes) {
  let sum = 0xffffffff;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return ~sum >>> 0;
}

/** The next varint of `{ bytes, at }`. */
function varint(from) {
  let number = 0n;
  for (let shift = 0n; ; shift += 7n) {
    const byte = from.bytes[from.at++];
    number |= BigInt(byte & 127) << shift;
    if (byte < 128) return number;
  }
}

function inflated(bytes) {
  const rest = { bytes, at: 0 };
  const part = () => {
    const length = Number(varint(rest));
    const from = rest.at;
    rest.at += length;
    return { bytes: inflateRawSync(bytes.subarray(from, rest.at)), at: 0 };
  };
  const [numbers, texts] = [part(), part()];
  const lengths = Array.from({ length: Number(varint(numbers)) }, () => Number(varint(numbers)));
  return lengths.map((length, stream) => {
    const of = NOISE.has(stream) ? rest : TEXTS.has(stream) || SORTED.has(stream) ? texts : numbers;
    const end = of.at + length;
    const own = of.bytes.subarray(of.at, end);
    if (of !== numbers) {
      of.at = end;
      return of === rest ? own : own.toString().split("\0").slice(0, -1);
    }
    const found = [];
    while (of.at < end) found.push(varint(of));
    return found;
  });
}

// The model ------------------------------------------------------------------------------------------------------------

function hash(a, b) {
  const m = Math.imul(a ^ 0x9e3779b9, 0x2c1b3c6d) ^ Math.imul(b, 0x85ebca6b);
  return (Math.imul(m ^ (m >>> 15), 0x297a2d39) ^ (m >>> 13)) >>> 0;
}

const clamp = (number, most) => Math.max(-most, Math.min(most, number));
const low32 = (number) => Number(number & 0xffffffffn);
const HALF = [22, 36, 60, 98, 162, 267, 439, 720, 1179, 1921, 3108, 4971, 7812, 11955, 17625, 24743, 32768];
const POINTS = Array.from({ length: 33 }, (_, i) => (i <= 16 ? HALF[i] : 65536 - HALF[32 - i]));
const between = (row, x) => {
  const [i, r] = [(x + 2048) >> 7, (x + 2048) & 127];
  return Math.trunc((row[i] * (128 - r) + row[i + 1] * r) / 128);
};
const SQUASH = Array.from({ length: 4096 }, (_, x) => between(POINTS, x - 2048));
const squash = (x) => SQUASH[clamp(x, 2047) + 2048];
const STRETCH = Array.from({ length: 4096 }, (_, q) => {
  const x = SQUASH.findIndex((p) => p >> 4 >= q);
  return x < 0 ? 2047 : x - 2048;
});
const trust = (met) => (met <= 3 ? met : met <= 5 ? 4 : met <= 10 ? 5 : met <= 30 ? 6 : 7);
const FIRST_WEIGHTS = [0, 14000, 17000, 19000, 21000, 23000, 24000, 24000];

/** Bits of an arithmetic coder, each with its probability. */
class Line {
  low = 0;
  high = 0xffffffff;
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 4;
    this.number = [0, 1, 2, 3].reduce((number, at) => number * 256 + (bytes[at] ?? 0), 0);
  }

  bit(p) {
    const middle = this.low + Math.floor(((this.high - this.low) * p) / 65536);
    const bit = this.number <= middle ? 1 : 0;
    if (bit === 1) this.high = middle;
    else this.low = middle + 1;
    while (this.low >>> 24 === this.high >>> 24) {
      this.low = (this.low << 8) >>> 0;
      this.high = ((this.high << 8) | 255) >>> 0;
      this.number = ((this.number << 8) | (this.bytes[this.at++] ?? 0)) >>> 0;
    }
    return bit;
  }
}

class Model {
  constructor(bytes, length) {
    this.k = Math.max(14, Math.min(19, Math.floor(Math.log2(Math.max(1, length))) + 5));
    this.chances = new Uint32Array(16 << this.k).fill(1 << 21);
    this.mets = new Uint8Array(16 << this.k);
    const weights = () => Array.from({ length: 512 * 9 }, () => [...FIRST_WEIGHTS]);
    this.mixers = [weights(), weights()];
    const row = POINTS.map((_, point) => squash((point - 16) * 128));
    this.corrections = Array.from({ length: 4096 }, () => [...row]);
    for (const word of readFileSync(WORDS, "utf8").trimEnd().split("\n")) this.text(20, "", 0, Buffer.from(word));
    this.line = new Line(bytes);
  }

  /** Where a group's counter of each context is. */
  places(contexts, salt, place) {
    return contexts.map((context) => (hash(context, salt) >>> (32 - this.k)) * 16 + place);
  }

  /** A bit; before the link begins, one that is known. */
  bit(places, first, second, correction, known) {
    const sets = [first % 512, second % 512];
    const inputs = places.map((at) => [STRETCH[this.chances[at] >> 10], trust(this.mets[at])]);
    const weights = this.mixers.map((mixer, side) => inputs.map((_, i) => mixer[sets[side] * 9 + i]));
    const said = weights.map((own) => {
      const sum = inputs.reduce((sum, [input, trust], i) => sum + input * own[i][trust], 0);
      return clamp(Math.floor(sum / 65536), 2047);
    });
    const both = (said[0] + said[1]) >> 1;
    const row = this.corrections[correction % 4096];
    const p = Math.max(24, Math.min(65512, Math.trunc((squash(both) + between(row, both)) / 2)));
    const bit = known ?? this.line.bit(p);
    const truth = bit === 1 ? 65535 : 0;
    weights.forEach((own, side) =>
      inputs.forEach(([input, trust], i) => {
        const learned = Math.floor((input * (truth - squash(said[side])) * 45) / 262144);
        own[i][trust] = clamp(own[i][trust] + learned, 2 ** 20);
      }),
    );
    for (const at of places) {
      const rate = Math.trunc(655360 / (10 * this.mets[at] + 16));
      this.chances[at] += Math.floor((((bit === 1 ? 2 ** 22 - 1 : 0) - this.chances[at]) * rate) / 65536);
      this.mets[at] = Math.min(127, this.mets[at] + 1);
    }
    const nearer = ((both + 2048) >> 7) + (((both + 2048) & 127) >= 64 ? 1 : 0);
    row[nearer] += (truth - row[nearer]) >> 6;
    return bit;
  }

  number(stream, contexts) {
    const hashed = contexts.map((context, i) => hash(context, 32 * stream + i));
    const first = 2 * (stream % 64);
    let bits = 0;
    while (bits < 64 && this.bit(this.places(hashed, bits & ~15, bits % 16), first, bits, 64 * stream + bits) === 1) bits += 1;
    let number = bits > 0 ? 1n : 0n;
    for (let j = 0, salt, place; j < bits - 1; j++) {
      if (j % 4 === 0) [salt, place] = [(hash(256 * bits + j, j < 12 ? low32(number) : 0) | 0x80000000) >>> 0, 1];
      const bit = this.bit(this.places(hashed, salt, place), first + 1, 64 + j, 2048 + 64 * stream + bits);
      place = (place << 1) | bit;
      number = (number << 1n) | BigInt(bit);
    }
    return number;
  }

  /** A text after one that it shares bytes with; `known` is there before the link begins. */
  text(stream, before, shared, known) {
    const other = Buffer.from(before);
    const bytes = [];
    let [last, word] = [0n, 0];
    const push = (byte) => {
      const isOfWord = byte >= 128 || /[A-Za-z0-9]/.test(String.fromCharCode(byte));
      word = isOfWord ? hash(word + 1, byte) : 0;
      last = BigInt.asUintN(64, (last << 8n) | BigInt(byte));
      bytes.push(byte);
    };
    other.subarray(0, shared).forEach(push);
    const newest = (n) => {
      const v = BigInt.asUintN(64, last << BigInt(64 - 8 * n));
      return hash(low32(v), hash(low32(v >> 32n), n));
    };
    for (;;) {
      const differs = bytes.length === shared ? 256 + (other[shared] ?? 0) : 0;
      const lastByte = Number(last & 255n);
      const contexts = [hash(stream, 0), ...[1, 2, 3, 4, 6].map(newest), word, hash(hash(differs, stream), lastByte)].map(
        (context, i) => hash(context, 4096 + i),
      );
      const byte = this.byte(contexts, lastByte, known && (known[bytes.length] ?? 0));
      if (byte === 0) return Buffer.from(bytes).toString();
      push(byte);
    }
  }

  byte(contexts, lastByte, known) {
    let front = 1;
    for (let position = 7, salt, place; position >= 0; position--) {
      if (position % 4 === 3) [salt, place] = [front, 1];
      const places = this.places(contexts, salt, place);
      const unmet = places.slice(1, 6).findIndex((at) => this.mets[at] === 0);
      const first = 128 + 8 * (unmet < 0 ? 5 : unmet) + position;
      const bit = this.bit(places, first, 256 + front, hash(256 * lastByte + front, 3), known && (known >> position) & 1);
      [place, front] = [(place << 1) | bit, (front << 1) | bit];
    }
    return front & 255;
  }
}

// Streams --------------------------------------------------------------------------------------------------------------

function modelled(bytes) {
  const start = { bytes, at: 0 };
  const length = Number(varint(start));
  const model = new Model(bytes.subarray(start.at), length);
  const streams = [];
  const total = Number(model.number(63, [0]));
  let nodes = [];
  for (let stream = 0; stream < total; stream++) {
    const times = (read) => Array.from({ length: Number(model.number(63, [0, stream + 1])) }, (_, i) => read(i));
    if (stream === PAIRS || stream === FUNCTIONS || SORTED.has(stream)) continue;
    if (TEXTS.has(stream)) streams[stream] = times(() => model.text(stream, "", 0));
    else if (NOISE.has(stream))
      streams[stream] = times(() => Array.from({ length: 8 }).reduce((byte) => (byte << 1) | model.line.bit(32768), 0));
    else if (SHARED.has(stream)) readSorted(model, stream, streams, times);
    else if (stream === TREE) nodes = readTree(model, streams);
    else if (stream === LINES) streams[stream] = readLines(model, streams, nodes);
    else if (SUMS.has(stream)) streams[stream] = readSums(model, stream, nodes, times);
    else streams[stream] = readNumbers(model, stream, times);
  }
  return streams;
}

function readNumbers(model, stream, times) {
  const bits = (number) => (number === 0n ? 0 : number.toString(2).length);
  let last = [0n, 0n, 0n];
  return times((at) => {
    const [a, b, c] = last.map(low32);
    const contexts = [0, a, hash(a, b), hash(hash(a, b), c), b, hash(bits(last[0]), bits(last[1])), Math.min(at, 64)];
    const number = model.number(stream, contexts);
    last = [number, last[0], last[1]];
    return number;
  });
}

/** Streams of sorted texts; what is kept of the second are whole bytes after those shared, as in the other form. */
function readSorted(model, stream, streams, times) {
  let [before, sharedBefore] = [Buffer.alloc(0), 0];
  const rest = [];
  streams[stream] = times(() => {
    const first = before[0] ?? 0;
    const contexts = [0, Math.min(sharedBefore, 40), hash(before.length, 1), hash(sharedBefore, first)];
    const shared = model.number(stream, contexts);
    const text = Buffer.from(model.text(stream + 1, before, Number(shared)));
    rest.push(text.subarray(Number(shared)).toString());
    [before, sharedBefore] = [text, Number(shared)];
    return shared;
  });
  streams[stream + 1] = rest;
}

/** For each function, from number 2: the position of its DSO, and whether it has a name. */
function functionsOf(streams) {
  return streams[16].flatMap((count, at) =>
    Array.from({ length: Number(count) }, () => ({ dso: at >> 1, isNamed: at % 2 === 0 })),
  );
}

function readTree(model, streams) {
  const functions = functionsOf(streams);
  const [children, pairs, news, nodes, open, met] = [[], [], [], [], [], new Map()];
  do {
    const above = open.at(-1);
    const depth = open.length;
    if (above) above.left -= 1;
    const [from, of, left, calls] = above ? [above.code, above.from, above.left, above.calls] : [0n, 0n, 0, 0];
    let code = above ? PROCESS : ROOT;
    let isNew = 0;
    const [from32, of32] = [low32(from), low32(of)];
    const before = nodes.at(-1) ?? { code: 0n, calls: 0 };
    if (above && from !== ROOT) {
      if (!met.has(from)) met.set(from, []);
      const known = met.get(from);
      const count = Math.min(known.length, 40);
      const pair = model.number(PAIRS, [
        0,
        hash(from32, above.pair),
        hash(from32, hash(of32, 1)),
        hash(count, Math.min(left, 20)),
        hash(above.pair, calls),
        hash(count, above.pair),
      ]);
      pairs.push(pair);
      above.pair = Number(pair) + 1;
      if (pair === 0n) {
        isNew = 1;
        const own = functions[Number(from) - 2];
        const dso = own ? 1 + 2 * own.dso + (own.isNamed ? 0 : 1) : from < 2n ? 1 : 0;
        const call = model.number(FUNCTIONS, [
          0,
          dso,
          from32,
          from32 >>> 2,
          from32 >>> 4,
          known.length > 0 ? low32(known.at(-1)) + 1 : 0,
          low32(before.code),
        ]);
        news.push(call);
        known.push(call);
      }
      code = known.at(pair === 0n ? -1 : Number(pair) - 1) >> 1n;
    }
    const code32 = low32(code);
    const count = Number(
      model.number(TREE, [
        0,
        code32,
        hash(code32, from32),
        hash(isNew, Math.min(left, 10)),
        hash(isNew, before.calls),
        hash(depth, isNew),
        hash(calls, left),
        hash(code32, hash(isNew, 1)),
      ]),
    );
    children.push(BigInt(count));
    nodes.push({ code, from, calls: count, callsOfCaller: calls, isNew });
    while (open.at(-1)?.left === 0) open.pop();
    if (count > 0) open.push({ code, from, calls: count, left: count, pair: 0 });
  } while (open.length > 0);
  [streams[TREE], streams[PAIRS], streams[FUNCTIONS]] = [children, pairs, news];
  return nodes;
}

/** Whether the source file of a function is known, by its number. */
function hasFile(streams) {
  const named = functionsOf(streams).map(({ isNamed }) => isNamed);
  let at = 0;
  const files = named.map((isNamed) => isNamed && streams[22][at++] !== 0n);
  return (code) => files[Number(code) - 2] ?? false;
}

function readLines(model, streams, nodes) {
  const last = new Map();
  const isPlaced = hasFile(streams);
  return nodes
    .filter(({ code }) => isPlaced(code))
    .map(({ code, from }) => {
      const [before, code32] = [low32(last.get(code) ?? 0n), low32(code)];
      const contexts = [0, hash(code32, before), code32, before === 0 ? 1 : 0, hash(code32, low32(from)), before];
      const line = model.number(LINES, contexts);
      last.set(code, line);
      return line;
    });
}

function readSums(model, stream, nodes, times) {
  let last = 0;
  return times((at) => {
    const { code, from, calls, callsOfCaller, isNew } = nodes[at % nodes.length];
    const [code32, c, around] = [low32(code), Math.min(calls, 4), 2 * Math.min(callsOfCaller, 9) + isNew];
    const contexts = [
      0,
      code32,
      hash(code32, c),
      hash(c, last),
      hash(c, hash(around, 1)),
      hash(c, hash(code32, low32(from))),
      c,
      hash(last, code32),
    ];
    const number = model.number(stream, contexts);
    last = low32(number);
    return number;
  });
}

// What is in them ------------------------------------------------------------------------------------------------------

/** The texts of two streams of sorted ones. */
function sorted(streams, at) {
  let before = Buffer.alloc(0);
  return streams[at].map((shared, i) => {
    before = Buffer.concat([before.subarray(0, Number(shared)), Buffer.from(streams[at + 1][i])]);
    return before.toString();
  });
}

/** Texts of functions and DSOs, by number from 2. */
function labels(streams) {
  const names = sorted(streams, 19);
  let [name, unnamed, address, dso] = [0, 0, 0n, -1];
  const functions = functionsOf(streams).map((own) => {
    if (own.dso !== dso) [dso, address] = [own.dso, 0n];
    if (own.isNamed) return names[name++];
    address = BigInt.asUintN(64, address + streams[23][unnamed++]);
    return `0x${address.toString(16)}`;
  });
  return [...functions, ...sorted(streams, 7).map((path) => path.split("/").at(-1))];
}

/** Of the first event: each call node that has a name or samples, as `path samples weight`. */
export function callsOf(streams) {
  const [texts, processes, met] = [labels(streams), sorted(streams, 24), new Map()];
  const [pairs, news] = [streams[PAIRS].values(), streams[FUNCTIONS].values()];
  const [, , , unit, regular] = streams[4];
  const open = [];
  return streams[TREE].map((children, at) => {
    const above = open.at(-1);
    let [code, path] = [ROOT, ""];
    if (above?.code === ROOT) [code, path] = [PROCESS, processes.shift()];
    else if (above) {
      if (!met.has(above.code)) met.set(above.code, []);
      const known = met.get(above.code);
      const pair = Number(pairs.next().value);
      if (pair === 0) known.push(news.next().value);
      code = known.at(pair - 1) >> 1n;
      const text = code === 0n ? "[folded]" : code === 1n ? "[no mapping]" : texts[Number(code) - 2];
      path = `${above.path};${text}`;
    }
    if (above) above.left -= 1n;
    while (open.at(-1)?.left === 0n) open.pop();
    if (children > 0n) open.push({ code, path, left: children });
    const count = streams[30][at];
    const weight = (regular === 0n ? streams[31][at] : count) * unit;
    // What ended in the root are calls of processes that were left out.
    return at === 0 && count > 0n ? `[folded];[folded] ${count} ${weight}` : `${path} ${count} ${weight}`;
  });
}

/** Places of the first event: `function: file line address samples weight`, ` inlined`, and after tabs what stands there. */
export function placesOf(streams) {
  const texts = labels(streams);
  const [head, marks, addresses, files, lines, counts, weights] = [49, 50, 51, 52, 53, 54, 55].map(
    (stream) => streams[stream] ?? [],
  );
  const [, , , unit, regular] = streams[4];
  const signed = (number) => (number >> 1n) ^ -(number & 1n);
  const [sources, assembly] = [[...(streams[56] ?? [])], streams[57] ?? []];
  const source = new Map();
  let [code, address, line, at] = [0n, 0n, 0n, 0];
  return Array.from({ length: Number(head[0] ?? 0n) }, (_, of) => {
    code += head[1 + 2 * of];
    return Array.from({ length: Number(head[2 + 2 * of]) }, () => {
      if (addresses.length > 0) address = BigInt.asUintN(64, address + signed(addresses[at]));
      if (lines.length > 0) line += signed(lines[at]);
      const file = marks[at] >> 1n === 0n ? "-" : files[Number(marks[at] >> 1n) - 1];
      const weight = (regular === 0n ? weights[at] : counts[at]) * unit;
      const text = `${texts[Number(code) - 2]}: ${file} ${line} ${address.toString(16)} ${counts[at]} ${weight}`;
      const key = `${file}:${line}`;
      if (sources.length > 0 && file !== "-" && line > 0n && !source.has(key)) source.set(key, sources.shift());
      const instruction = assembly[at] ?? "";
      const inlined = marks[at++] & 1n ? " inlined" : "";
      return [text + inlined, source.get(key) ?? "", instruction].filter((part) => part !== "").join("\t");
    });
  }).flat();
}
