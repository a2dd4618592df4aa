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
