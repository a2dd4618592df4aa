import assert from "node:assert/strict";
import { test } from "node:test";
import { Looks } from "../src/open/so_far.ts";

const MB = 1_000_000;

/**
 * When a recording is looked at that is read at so many MB a second; a look takes `look` ms, in which nothing is read. The
 * worker that reads it starts in `start` ms.
 */
function looksAt(total: number, rate: number, { look = 100, start = 0 } = {}): number[] {
  const looks = new Looks();
  const at: number[] = [];
  let now = start;
  for (let done = 0; done < total; done += rate / 25) {
    now += 40;
    if (looks.isDue({ stage: "reading", done: done * MB, total: total * MB }, now)) {
      looks.looked(now);
      at.push(now);
      now += look;
    }
  }
  return at;
}

test("what is soon read to its end is shown when it is", () => {
  assert.deepEqual(looksAt(120, 100), []);
  assert.deepEqual(looksAt(15, 1), []);
});

test("while the worker starts, it is not reading slowly", () => {
  assert.deepEqual(looksAt(120, 100, { start: 2000 }), []);
});

test("the first look is after some 20 MB, then there is one a second", () => {
  const [first = 0, ...more] = looksAt(1400, 100);
  assert.ok(first > 200 && first < 300, `${first}`);
  assert.ok(more.length >= 8 && more.length <= 13, `${more.length}`);
  // The last second shows nothing that the end would not.
  assert.ok((more.at(-1) ?? 0) < 14_500);
});

test("looks that take long are few", () => {
  const spent = looksAt(1400, 100, { look: 1000 }).length * 1000;
  assert.ok(spent >= 1000 && spent <= 14_000 / 9 + 1000, `${spent} ms of 14,000`);
});

test("nothing is looked at before its length is known, or while it is no reading", () => {
  const looks = new Looks();
  assert.equal(looks.isDue({ stage: "reading", done: 500 * MB }, 10_000), false);
  assert.equal(looks.isDue({ stage: "naming", done: 500 * MB, total: 9000 * MB }, 10_000), false);
});
