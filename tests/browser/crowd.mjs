// A recording of very many functions, whose names say nothing of each other: what makes a link long. The recording is
// written here, byte by byte; the library with the names is assembled.
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";

const BUILD_ID = "c0".repeat(20);
const CODE = 0x7f00_0000_0000n;
/** Bytes between functions. */
const APART = 16;
const CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";

/** Numbers below a limit that look random and are the same each time. */
function numbers() {
  let state = 88172645463325252n;
  return (limit) => {
    state = BigInt.asUintN(64, state * 6364136223846793005n + 1442695040888963407n);
    return Number((state >> 33n) % BigInt(limit));
  };
}

/** Writes `crowd.so` and `crowd.perf.data` with so many functions; answers both, and what was sampled. */
export function writeCrowd(parts, functions) {
  const below = numbers();
  const name = () => `f${Array.from({ length: 47 }, () => CHARACTERS[below(CHARACTERS.length)]).join("")}`;
  const labels = Array.from({ length: functions }, name);
  const source = parts.path("crowd.s");
  const code = labels.map((label) => `.globl ${label}\n.type ${label},@function\n${label}: ret\n.p2align 4\n.size ${label},1`);
  writeFileSync(source, `.text\n.p2align 12\n${code.join("\n")}\n.section .note.GNU-stack\n`);
  const library = parts.path("crowd.so");
  execFileSync("gcc", ["-nostdlib", "-shared", `-Wl,--build-id=0x${BUILD_ID}`, "-o", library, source]);
  const [, offset] = /\.text\s+PROGBITS\s+[0-9a-f]+ ([0-9a-f]+)/.exec(execFileSync("readelf", ["-SW", library], { encoding: "utf8" }));

  const samples = labels.map((_, index) => ({ weight: 1_000_000 + below(1_000_000), way: [index >> 10, index >> 4, index] }));
  const recording = parts.path("crowd.perf.data");
  writeFileSync(recording, perfData(library, BigInt(`0x${offset}`), functions * APART, samples));
  const weight = samples.reduce((sum, sample) => sum + sample.weight, 0);
  return { recording, library, samples: functions, weight };
}

const u16 = (number) => bytes(2, (buffer) => buffer.writeUInt16LE(number));
const u32 = (number) => bytes(4, (buffer) => buffer.writeUInt32LE(number));
const u64 = (number) => bytes(8, (buffer) => buffer.writeBigUInt64LE(BigInt(number)));

function bytes(length, write) {
  const buffer = Buffer.alloc(length);
  write(buffer);
  return buffer;
}

/** A text with its 0, padded to eight bytes. */
const text = (value) => Buffer.from(value.padEnd((value.length + 8) & ~7, "\0"), "latin1");

const record = (kind, misc, ...fields) => {
  const body = Buffer.concat(fields);
  return Buffer.concat([u32(kind), u16(misc), u16(body.length + 8), body]);
};

/** A file of one event, cpu-clock, whose samples have call chains; all of it one process. */
function perfData(library, offset, length, samples) {
  const task = [u32(7), u32(7)];
  const id = (time) => [...task, u64(time), u64(0)];
  const union = [Buffer.from([20, 0, 0, 0]), Buffer.from(BUILD_ID, "hex")];
  const place = [u64(CODE), u64(length), u64(offset), ...union, u32(5), u32(2)];
  const data = [
    record(3, 0, ...task, text("crowd"), ...id(1)),
    // MMAP2 of user code, with a build-id.
    record(10, 1 << 14 | 2, ...task, ...place, text(library), ...id(1)),
    ...samples.map(({ weight, way }, index) => {
      const chain = way.map((place) => u64(CODE + BigInt(place * APART))).reverse();
      const user = u64(BigInt.asUintN(64, -512n));
      return record(9, 2, chain[0], ...task, u64(1_000_000 + index * 1000), u64(0), u64(weight), u64(chain.length + 1), user, ...chain);
    }),
  ];
  const size = data.reduce((sum, { length }) => sum + length, 0);
  // IP, TID, TIME, CALLCHAIN, CPU and PERIOD; sample_id_all and a frequency.
  const attr = bytes(112, (buffer) => {
    buffer.writeUInt32LE(1, 0);
    buffer.writeUInt32LE(112, 4);
    buffer.writeBigUInt64LE(BigInt(1 | 1 << 1 | 1 << 2 | 1 << 5 | 1 << 7 | 1 << 8), 24);
    buffer.writeBigUInt64LE(1n << 18n | 1n << 10n, 40);
  });
  const header = [Buffer.from("PERFILE2"), ...[104, 128, 104, 128, 232, size, 0, 0, 0, 0, 0, 0].map(u64)];
  return Buffer.concat([...header, attr, u64(0), u64(0), ...data]);
}
