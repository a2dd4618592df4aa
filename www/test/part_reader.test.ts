import assert from "node:assert/strict";
import { test } from "node:test";
import type { Part } from "../src/worker/part_reader.ts";
import { PartReader } from "../src/worker/part_reader.ts";

const BYTES = Uint8Array.from({ length: 5_000_000 }, (_, at) => (at * 7919) >> 5);

const source = { size: BYTES.length, read: (): never => assert.fail("nothing is read at random") };

/** A file, whose stream is one of bytes. */
const ofFile: Part = {
  source,
  stream: async (from, to) => new Blob([BYTES]).slice(from, to).stream() as ReadableStream<Uint8Array<ArrayBuffer>>,
};

/** The same where streams are not of bytes: they hand over blocks as they have them. */
const ofBlocks: Part = {
  source,
  stream: async (from, to) => {
    let at = from;
    return new ReadableStream({
      pull: (controller) => {
        if (at === to) {
          controller.close();
          return;
        }
        const end = Math.min(to, at + 300_001);
        controller.enqueue(BYTES.slice(at, end));
        at = end;
      },
    });
  },
};

for (const [name, part] of Object.entries({ "of bytes": ofFile, "of blocks": ofBlocks })) {
  test(`a stream ${name} is read to its end, and anew where it is asked for elsewhere`, async () => {
    const reader = new PartReader(part, "stream");
    for (const from of [3, 4_000_000, 17]) {
      let at = from;
      while (at < BYTES.length) {
        const block = await reader.read(at, 1_000_000);
        assert.ok(block.length > 0 && block.length <= 1_000_000);
        assert.deepEqual(block, BYTES.subarray(at, at + block.length));
        at += block.length;
      }
    }
    assert.equal((await reader.read(BYTES.length, 10)).length, 0);
    reader.close();
  });
}

test("blocks of a stream of bytes are read into the same memory", async () => {
  const reader = new PartReader(ofFile, "stream");
  const first = await reader.read(0, 4_000_000);
  const { length } = first;
  assert.ok(length > 0);
  await reader.read(length, 4_000_000);
  assert.equal(first.buffer.byteLength, 0, "its memory is that of the next block");
  reader.close();
});

test("a reader that is closed while it reads has no more bytes, and one whose stream fails says so", async () => {
  for (const type of ["bytes", undefined] as const) {
    let fail = (): void => {};
    const held: Part = {
      source,
      stream: async () =>
        new ReadableStream({
          type,
          start: (controller) => {
            fail = () => controller.error(new Error("the disk is gone"));
          },
        } as UnderlyingDefaultSource),
    };
    const closed = new PartReader(held, "stream");
    const read = closed.read(0, 10);
    await new Promise(setImmediate);
    closed.close();
    assert.equal((await read).length, 0);

    const failing = new PartReader(held, "stream");
    const failed = failing.read(0, 10);
    await new Promise(setImmediate);
    fail();
    await assert.rejects(failed, { kind: "read", message: "the disk is gone" });
  }
});
