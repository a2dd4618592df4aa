// The page's code from its streams: a module that holds each kind of immediate, and what it was taken apart into.
import assert from "node:assert/strict";
import { test } from "node:test";
import { joined } from "../src/worker/packed_wasm.ts";

/** A piece of a module, and the stream that it belongs to; what has none is not in any. A stream may have other bytes. */
type Piece = [stream: (typeof STREAMS)[number] | "none", bytes: number[], ...instead: number[]];

const STREAMS = [
  ...(["rest", "code", "locals", "addresses", "stored", "offsets", "jumps", "branches", "tables"] as const),
  ...(["small", "added", "operands", "medium", "large"] as const),
] as const;

const FIRST_BODY: Piece[] = [
  // Two groups of local variables.
  ["rest", [2, 1, 0x7f, 3, 0x7e]],
  ["code", [0x02, 0x40], 0x02],
  ["code", [0x03], 0xf2],
  ["code", [0x7f]],
  ["code", [0x41]],
  ["small", [0x7f]],
  ["code", [0x41], 0xd8],
  ["medium", [0xff, 0x00]],
  ["code", [0x41], 0xd9],
  ["large", [0xff, 0x80, 0x7f], 0xff, 0xff, 0xc0, 0x7f],
  ["code", [0x41], 0xd9],
  ["large", [0x80, 0x80, 0x80, 0x80, 0x78], 0x80, 0, 0, 0],
  ["code", [0x41]],
  ["added", [5]],
  ["code", [0x6a, 0x41]],
  ["operands", [6]],
  ["code", [0x71]],
  ["code", [0x42, 0x80, 0x01]],
  ["code", [0x43, 0x0b, 0x0b, 0x0b, 0x0b]],
  ["code", [0x44, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0xfc]],
  ["code", [0x20]],
  ["locals", [0x81, 0x01]],
  ["code", [0x22]],
  ["addresses", [3]],
  ["code", [0x28, 2], 0x28],
  ["offsets", [0x90, 0x20], 0xdf, 0xe0],
  ["code", [0x20]],
  ["addresses", [0x80, 0x01]],
  // Not aligned; four more than before.
  ["code", [0x29], 0xdb],
  ["code", [0]],
  ["offsets", [0x94, 0x20], 0x88],
  ["code", [0x20]],
  ["stored", [4]],
  ["code", [0x36, 2], 0x36],
  ["offsets", [0x88, 0x20], 0xdf, 0xd0],
  ["code", [0x3a, 0], 0x3a],
  ["offsets", [7]],
  // Eight less than what was loaded last, and much less; and much more.
  ["code", [0x28, 2], 0x28],
  ["offsets", [0x8c, 0x20], 0x8f],
  ["code", [0x28, 2], 0x28],
  ["offsets", [0x80, 0x01], 0xde, 0xd7],
  ["code", [0x37, 3], 0x37],
  ["offsets", [0x80, 0x80, 0x80, 0x40], 0xff, 0x80, 0x80, 0x80, 0x40],
  ["code", [0x0c]],
  ["jumps", [0]],
  ["code", [0x0d]],
  ["branches", [1]],
  // A table of branches: two, and one for the rest.
  ["code", [0x0e]],
  ["tables", [2, 0, 1, 0]],
  ["code", [0x10, 0xff, 0x01, 0x11, 4, 0]],
  ["code", [0x1c, 1, 0x7f]],
  ["code", [0x3f, 0, 0xd0, 0x70, 0xd2, 9]],
  // Saturating, copied, filled.
  ["code", [0xfc, 2, 0xfc, 10, 0, 0, 0xfc, 11, 0]],
  ["code", [0x0b, 0x0b, 0x6a, 0x0b]],
];
/** Longer than one byte of length says. */
const SECOND_BODY: Piece[] = [
  ["rest", [0]],
  ...Array.from({ length: 100 }, (_, i): Piece[] => [
    ["code", [0x21]],
    ["locals", [i]],
  ]).flat(),
  ["code", [0x0b]],
];

const length = (body: Piece[]): number => body.flatMap(([, bytes]) => bytes).length;

const MODULE: Piece[] = [
  ["rest", [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0]],
  ["rest", [1, 3, 10, 10, 10]],
  // The size of the section is not looked at; two functions.
  ["rest", [10, 0xa0, 0x02, 2]],
  ["none", [length(FIRST_BODY)]],
  ...FIRST_BODY,
  ["none", [(length(SECOND_BODY) & 0x7f) | 0x80, length(SECOND_BODY) >> 7]],
  ...SECOND_BODY,
  ["rest", [11, 2, 7, 8]],
];

const whole = MODULE.flatMap(([, bytes]) => bytes);
const streams = STREAMS.map((name) =>
  Uint8Array.from(
    MODULE.filter(([stream]) => stream === name).flatMap(([, bytes, ...instead]) => (instead.length === 0 ? bytes : instead)),
  ),
);

test("a module is put together from its streams", () => {
  assert.deepEqual([...joined(streams, whole.length)], whole);
});

test("streams that are cut short are an error", () => {
  for (const [cut, stream] of streams.entries()) {
    for (let left = 0; left < stream.length; left++) {
      const damaged = streams.map((whole, i) => (i === cut ? stream.subarray(0, left) : whole));
      assert.throws(() => joined(damaged, whole.length), /damaged/, `${STREAMS[cut]}, ${left} bytes of it`);
    }
  }
});

test("another size than that of the module is an error", () => {
  for (const size of [0, 1, whole.length - 1, whole.length + 1, 2 ** 32]) {
    assert.throws(() => joined(streams, size), /damaged/, `${size}`);
  }
});
