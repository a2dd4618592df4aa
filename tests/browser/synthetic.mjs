// Recordings that are written here, byte by byte, for what no real one would show each time: of one event, cpu-clock, whose
// samples have call chains in one library, which is assembled.
import { closeSync, openSync, writeFileSync, writeSync } from "node:fs";
import { run } from "./recording.mjs";

const BUILD_ID = "c0".repeat(20);
const CODE = 0x7f00_0000_0000;
/** Bytes between functions. */
const APART = 16;
/** Before a chain's addresses of the user: PERF_CONTEXT_USER. */
const USER = -512n;

/** Numbers below a limit that look random and are the same each time. */
export function numbers() {
  let state = 88172645463325252n;
  return (limit) => {
    state = BigInt.asUintN(64, state * 6364136223846793005n + 1442695040888963407n);
    return Number((state >> 33n) % BigInt(limit));
  };
}

/** A library with functions of these names. */
export function writeLibrary(parts, name, labels) {
  const source = parts.path(`${name}.s`);
  const code = labels.map((label) => `.globl ${label}\n.type ${label},@function\n${label}: ret\n.p2align 4\n.size ${label},1`);
  writeFileSync(source, `.text\n.p2align 12\n${code.join("\n")}\n.section .note.GNU-stack\n`);
  const library = parts.path(`${name}.so`);
  run("gcc", ["-nostdlib", "-shared", `-Wl,--build-id=0x${BUILD_ID}`, "-o", library, source]);
  const [, offset] = /\.text\s+PROGBITS\s+[0-9a-f]+ ([0-9a-f]+)/.exec(run("readelf", ["-SW", library]));
  return { library, offset: Number(`0x${offset}`), length: labels.length * APART };
}

/** Samples of a round of the recorder, after which nothing older comes. */
const ROUND = 4096;

/** How much is written at once. */
const BLOCK = 1 << 22;

/**
 * Writes a recording. `tasks` are threads, as pid, tid and name; `samples` yields `{ task, time, cpu, weight, way }`, where
 * `way` has the numbers of functions of the library, outermost first.
 */
export function writeRecording(file, { library, offset, length }, tasks, samples) {
  const descriptor = openSync(file, "w");
  const block = new Writer(descriptor);
  const names = new Map(tasks.map(({ pid, name }) => [pid, name]));
  block.header(0);
  for (const { pid, tid, name } of tasks) block.comm(pid, tid, name);
  for (const pid of names.keys()) block.map(pid, library, offset, length);
  let written = 0;
  for (const sample of samples) {
    block.sample(sample);
    written += 1;
    if (written % ROUND === 0) block.endOfRound();
  }
  const size = block.end();
  // How much there is stands before it.
  const head = new Writer(descriptor, 0);
  head.header(size);
  head.end();
  closeSync(descriptor);
}

/** Where the data begin: behind the header of 104 bytes, one event of 112, and its ids, of which there are none. */
const DATA = 232;

class Writer {
  #file;
  #bytes = Buffer.alloc(BLOCK);
  #at = 0;
  #written = 0;
  #position;

  constructor(file, position = null) {
    this.#file = file;
    this.#position = position;
  }

  #room(bytes) {
    if (this.#at + bytes > BLOCK) this.#flush();
  }

  #flush() {
    writeSync(this.#file, this.#bytes, 0, this.#at, this.#position);
    this.#written += this.#at;
    this.#at = 0;
  }

  u16(number) {
    this.#at = this.#bytes.writeUInt16LE(number, this.#at);
  }

  u32(number) {
    this.#at = this.#bytes.writeUInt32LE(number, this.#at);
  }

  u64(number) {
    this.u32(number % 0x1_0000_0000);
    this.u32(Math.floor(number / 0x1_0000_0000));
  }

  bytes(bytes) {
    this.#at += bytes.copy(this.#bytes, this.#at);
  }

  header(size) {
    this.bytes(Buffer.from("PERFILE2"));
    for (const number of [104, 128, 104, 128, DATA, size, 0, 0, 0, 0, 0, 0]) this.u64(number);
    // The event: software, cpu-clock; IP, TID, TIME, CALLCHAIN, CPU and PERIOD; a frequency, sample_id_all.
    this.u32(1);
    this.u32(112);
    this.u64(0);
    this.u64(0);
    this.u64(1 | (1 << 1) | (1 << 2) | (1 << 5) | (1 << 7) | (1 << 8));
    this.u64(0);
    this.u64(2 ** 18 + 2 ** 10);
    for (let rest = 48; rest < 112 + 16; rest += 8) this.u64(0);
  }

  #record(type, misc, length) {
    this.#room(length);
    this.u32(type);
    this.u16(misc);
    this.u16(length);
  }

  /** A text with its 0, padded to eight bytes. */
  #text(value) {
    this.bytes(Buffer.from(value.padEnd(padded(value), "\0"), "latin1"));
  }

  #sampleId(pid, tid) {
    this.u32(pid);
    this.u32(tid);
    this.u64(1);
    this.u64(0);
  }

  /** FINISHED_ROUND. */
  endOfRound() {
    this.#record(68, 0, 8);
  }

  comm(pid, tid, name) {
    this.#record(3, 0, 8 + 8 + padded(name) + 24);
    this.u32(pid);
    this.u32(tid);
    this.#text(name);
    this.#sampleId(pid, tid);
  }

  /** MMAP2 of user code, with a build-id. */
  map(pid, library, offset, length) {
    this.#record(10, (1 << 14) | 2, 8 + 8 + 24 + 24 + 8 + padded(library) + 24);
    this.u32(pid);
    this.u32(pid);
    this.u64(CODE);
    this.u64(length);
    this.u64(offset);
    this.u32(20);
    this.bytes(Buffer.from(BUILD_ID, "hex"));
    this.u32(5);
    this.u32(2);
    this.#text(library);
    this.#sampleId(pid, pid);
  }

  sample({ task: { pid, tid }, time, cpu, weight, way }) {
    this.#record(9, 2, 8 + 8 + 8 + 8 + 8 + 8 + 8 + 8 + way.length * 8);
    this.u64(CODE + way.at(-1) * APART);
    this.u32(pid);
    this.u32(tid);
    this.u64(time);
    this.u64(cpu);
    this.u64(weight);
    this.u64(way.length + 1);
    this.#at = this.#bytes.writeBigInt64LE(USER, this.#at);
    for (let at = way.length - 1; at >= 0; at--) this.u64(CODE + way[at] * APART);
  }

  /** Writes what is left; how many bytes the data have. */
  end() {
    this.#flush();
    return this.#written - DATA;
  }
}

const padded = (text) => (text.length + 8) & ~7;
