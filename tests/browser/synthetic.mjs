// Recordings that are written here, byte by byte, for what no real one would show each time: of one event, cpu-clock, whose
// samples have call chains in one library, which is assembled.
import { closeSync, openSync, writeFileSync, writeSync } from "node:fs";
import { run } from "./recording.mjs";

const BUILD_ID = "c0".repeat(20);
const CODE = 0x7f00_0000_0000;
/** Bytes between functions. */
const APART = 16;
/** Before a chain's addresses of the user: PERF_CONTEXT_USER; and of the kernel, which alone runs with pid 0. */
const USER = -512n;
const KERNEL = -128n;
const KERNEL_CODE = 0xffff_ffff_8100_0000n;

/** Numbers below a limit that look random and are the same each time. */
export function numbers() {
  let state = 88172645463325252n;
  return (limit) => {
    state = BigInt.asUintN(64, state * 6364136223846793005n + 1442695040888963407n);
    return Number((state >> 33n) % BigInt(limit));
  };
}

/** A library with functions of these names; or with this code, which has its own. */
export function writeLibrary(parts, name, of) {
  const source = parts.path(`${name}.s`);
  const label = (label) => `.globl ${label}\n.type ${label},@function\n${label}: ret\n.p2align 4\n.size ${label},1`;
  const code = typeof of === "string" ? of : of.map(label).join("\n");
  writeFileSync(source, `.text\n.p2align 12\n${code}\n.section .note.GNU-stack\n`);
  const library = parts.path(`${name}.so`);
  run("gcc", ["-nostdlib", "-shared", `-Wl,--build-id=0x${BUILD_ID}`, "-o", library, source]);
  const [, offset, size] = /\.text\s+PROGBITS\s+[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+)/.exec(run("readelf", ["-SW", library]));
  return { library, offset: Number(`0x${offset}`), length: Number(`0x${size}`) };
}

/** Samples of a round of the recorder, after which nothing older comes. */
const ROUND = 4096;

/** How much is written at once. */
const BLOCK = 1 << 22;

/**
 * Writes a recording. `tasks` are threads, as pid, tid and name; `samples` yields `{ task, time, cpu, weight, way }`, where
 * `way` has the numbers of functions of the library, outermost first; or `at` is where in the library it was taken. With
 * `hasBranches` each has `branches` too, newest first: from where in the library to where, and what is known of it.
 */
export function writeRecording(file, { library, offset, length }, tasks, samples, hasBranches = false) {
  const descriptor = openSync(file, "w");
  const block = new Writer(descriptor, null, hasBranches);
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
  const head = new Writer(descriptor, 0, hasBranches);
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
  #hasBranches;

  constructor(file, position, hasBranches) {
    this.#file = file;
    this.#position = position;
    this.#hasBranches = hasBranches;
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

  #i64(number) {
    this.#at = this.#bytes.writeBigUInt64LE(BigInt.asUintN(64, number), this.#at);
  }

  bytes(bytes) {
    this.#at += bytes.copy(this.#bytes, this.#at);
  }

  header(size) {
    this.bytes(Buffer.from("PERFILE2"));
    for (const number of [104, 128, 104, 128, DATA, size, 0, 0, 0, 0, 0, 0]) this.u64(number);
    // The event: software, cpu-clock; IP, TID, TIME, CALLCHAIN, CPU, PERIOD and BRANCH_STACK; a frequency, sample_id_all.
    this.u32(1);
    this.u32(112);
    this.u64(0);
    this.u64(0);
    this.u64(1 | (1 << 1) | (1 << 2) | (1 << 5) | (1 << 7) | (1 << 8) | (this.#hasBranches ? 1 << 11 : 0));
    this.u64(0);
    this.u64(2 ** 18 + 2 ** 10);
    // Of branches any kind, in user space.
    for (let rest = 48; rest < 112 + 16; rest += 8) this.u64(rest === 72 && this.#hasBranches ? 9 : 0);
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

  sample({ task: { pid, tid }, time, cpu, weight, way, at, branches = [] }) {
    const chain = way?.map((label) => label * APART) ?? [at];
    const isKernel = pid === 0;
    const address = (place) => this.#i64(isKernel ? KERNEL_CODE + BigInt(place) : BigInt(CODE + place));
    this.#record(
      9,
      isKernel ? 1 : 2,
      8 + 8 + 8 + 8 + 8 + 8 + 8 + 8 + chain.length * 8 + (this.#hasBranches ? 8 + branches.length * 24 : 0),
    );
    address(chain.at(-1));
    this.u32(pid);
    this.u32(tid);
    this.u64(time);
    this.u64(cpu);
    this.u64(weight);
    this.u64(chain.length + 1);
    this.#i64(isKernel ? KERNEL : USER);
    for (let place = chain.length - 1; place >= 0; place--) address(chain[place]);
    if (this.#hasBranches) this.#branches(branches);
  }

  #branches(branches) {
    this.u64(branches.length);
    for (const { from, to, mispredicted, cycles } of branches) {
      this.u64(CODE + from);
      this.u64(CODE + to);
      this.u64((mispredicted ? 1 : 2) + cycles * 16);
    }
  }

  /** Writes what is left; how many bytes the data have. */
  end() {
    this.#flush();
    return this.#written - DATA;
  }
}

const padded = (text) => (text.length + 8) & ~7;
