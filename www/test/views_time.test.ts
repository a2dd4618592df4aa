import assert from "node:assert/strict";
import { test } from "node:test";
import type { TimeOrder } from "../src/session/types.ts";
import { Kind, NONE } from "../src/session/types.ts";
import type { LaidOutGraph } from "../src/views/flame/stage.ts";
import { NO_BOX } from "../src/views/flame/hit_test.ts";
import { spanOf } from "../src/views/time_order/time_host.ts";
import { spokenBox, timeMirrorItems } from "../src/views/time_order/time_mirror.ts";
import { length } from "../src/state/format.ts";
import { timeSpan } from "../src/views/time_order/time_words.ts";

test("lengths have three figures and the unit that fits", () => {
  assert.deepEqual([850, 1_500, 12_340, 106_000_000, 1_204_000_000, 90e9].map(length), [
    "850 ns",
    "1.50 µs",
    "12.3 µs",
    "106 ms",
    "1.20 s",
    "90.0 s",
  ]);
});

test("times have as many digits as tell both ends apart", () => {
  assert.equal(timeSpan({ start: 0, end: 6_763_867_607 }), "0.00 s to 6.76 s, 6.76 s");
  assert.equal(timeSpan({ start: 0, end: 56_370_000_000 }), "0.00 s to 56.37 s, 56.37 s");
  assert.equal(timeSpan({ start: 1_204_000_000, end: 1_310_000_000 }), "1.20 s to 1.31 s, 106 ms");
  const [, from, to] = /^([\d.]+) s to ([\d.]+) s/.exec(timeSpan({ start: 1_000_000_100, end: 1_000_000_350 })) ?? [];
  assert.notEqual(from, to);
});

/** A thread from 0 to 100 with `main` in it twice, which calls `work` the second time; a pixel is a nanosecond. */
function laid(): LaidOutGraph {
  const graph: Partial<TimeOrder> = {
    depths: 3,
    rowStart: Uint32Array.of(0, 1, 3, 4),
    start: Float32Array.of(0, 10, 50, 60),
    end: Float32Array.of(100, 20, 100, 80),
    callNode: Uint32Array.of(0, 1, 1, 2),
    folded: Uint32Array.of(0, 0, 0, 0),
    kind: new Uint8Array(4).fill(Kind.Own),
    flags: new Uint8Array(4),
    dso: new Uint32Array(4).fill(NONE),
    label: Uint32Array.of(0, NONE, 1, NONE),
    labels: ["thread 7", "main"],
    samples: Float64Array.of(12, 1, 9, 4),
  };
  return { graph: graph as TimeOrder, root: 0, layoutPx: 100, part: { left: 0, span: 1 }, searching: false, key: "" };
}

const whole = { start: 1000, end: 1100 };

test("a box is spoken with its time; one too narrow for a label has the name of its call", () => {
  const names = new Map([
    [1, "main"],
    [2, "work"],
  ]);
  assert.equal(spokenBox(laid(), 3, { whole, names, dsoOf: () => undefined }).split(", ")[0], "work");
  const dso = { name: "prog", status: "matched" } as const;
  const words = spokenBox(laid(), 2, { whole, names, dsoOf: () => dso });
  assert.match(words, /^main, prog, matched, .* s to .* s, 50 ns, 9 samples$/);
});

test("half of the whole lies at its own times", () => {
  const half = { ...laid(), part: { left: 0.5, span: 0.5 } };
  assert.deepEqual(spanOf(half, 2, whole), { start: 1075, end: 1100 });
});

test("the tree of a thread tells one box of a call from another", () => {
  const items = timeMirrorItems(laid(), 2, whole, null);
  assert.deepEqual(
    items.map(({ key, level, posInSet, setSize, selected }) => [key, level, posInSet, setSize, selected]),
    [
      ["box-0", 1, 1, 1, false],
      ["box-1", 2, 1, 2, false],
      ["box-2", 2, 2, 2, true],
      ["box-3", 3, 1, 1, false],
    ],
  );
  assert.ok(timeMirrorItems(laid(), NO_BOX, whole, null).every((item) => !item.selected));
});
