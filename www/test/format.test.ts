import assert from "node:assert/strict";
import { test } from "node:test";
import { timeLeft } from "../src/state/tasks.ts";
import {
  above,
  bytes,
  bytesOf,
  count,
  duration,
  largestRemainder,
  percent,
  seconds,
  shortId,
  weight,
} from "../src/state/format.ts";

test("largest remainder adds up to 100.0 for any parts", () => {
  assert.deepEqual(largestRemainder([1, 1, 1]), [33.4, 33.3, 33.3]);
  assert.deepEqual(largestRemainder([0.7267, 0.1308, 0.1374, 0.0051]), [72.7, 13.1, 13.7, 0.5]);
  // A small generator of its own, so that a failure can be repeated.
  let seed = 12_345;
  const random = (): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed / 2_147_483_648;
  };
  for (let round = 0; round < 500; round += 1) {
    const parts = Array.from({ length: 1 + Math.floor(random() * 6) }, () => random() ** 4);
    const tenths = largestRemainder(parts).map((part) => Math.round(part * 10));
    assert.equal(
      tenths.reduce((sum, part) => sum + part, 0),
      1000,
      `parts ${parts.join(" ")}`,
    );
    const whole = parts.reduce((sum, part) => sum + part, 0);
    parts.forEach((part, index) => {
      assert.ok(Math.abs((tenths[index] ?? 0) - (part / whole) * 1000) < 1, "no part moves by a whole step");
    });
  }
});

test("largest remainder of nothing is nothing", () => {
  assert.deepEqual(largestRemainder([0, 0]), [0, 0]);
  assert.deepEqual(largestRemainder([]), []);
});

test("shares have one decimal and a thin space; a rest is not zero", () => {
  assert.equal(percent(0.0784), "7.8\u202f%");
  assert.equal(percent(1), "100.0\u202f%");
  assert.equal(percent(0), "0.0\u202f%");
  assert.equal(percent(0.0001), "<\u202f0.1\u202f%");
  assert.equal(percent(0.0005), "0.1\u202f%");
});

test("counts, sizes and times", () => {
  assert.equal(count(412_806), "412,806");
  assert.equal(bytes(12), "12 B");
  assert.equal(bytes(182e6), "182 MB");
  assert.equal(bytes(61.34e6), "61.3 MB");
  assert.equal(bytes(1.43e9), "1.43 GB");
  assert.equal(bytes(999_600), "1.00 MB");
  assert.equal(bytesOf(6.1e6, 13.2e6), "6.1 of 13.2 MB");
  assert.equal(bytesOf(6.1e6, undefined), "6.1 MB");
  assert.equal(seconds(21.6e9), "21.60 s");
  assert.equal(duration({ start: 1e9, end: 22.6e9 }), "21.60 s");
  assert.equal(duration({ start: 1e9, end: 1e9 + 1.607e6 }), "1.61 ms");
  assert.equal(duration({ start: 1e9, end: 1e9 }), "0 ns");
});

test("what is above a threshold is at least what is said of it", () => {
  for (const [threshold, said] of [
    [0.0011, "0.12"],
    [0.00114, "0.12"],
    [0.000_001, "0.01"],
    [0.0098, "0.99"],
    [0.0099, "1.0"],
    [0.0301, "3.1"],
  ] as const) {
    assert.equal(above(threshold), `${said}\u202f%`);
    assert.ok(Number.parseFloat(above(threshold)) / 100 > threshold, said);
  }
});

test("a weight reads in its event's unit", () => {
  assert.equal(weight(19.3e9, "cycles:u"), "19.3 G cycles");
  assert.equal(weight(7_482, "page-faults"), "7,482 page-faults");
  assert.equal(weight(7.48e9, "cpu-clock"), "7.48 s");
  assert.equal(weight(2.5e6, "task-clock:u"), "2.5 ms");
  assert.equal(weight(2.5e9, "offcpu-time"), "2.50 s");
  assert.equal(weight(1_204, "sched:sched_switch"), "1,204 sched:sched_switch");
  assert.equal(weight(3, "x".repeat(300)), `3 ${"x".repeat(19)}…`);
});

test("a long id is cut in the middle, a short one is not", () => {
  assert.equal(shortId("9f31c07a52e8b4d16c0b3f97e21a8844673bd05e"), "9f31c07a…d05e");
  assert.equal(shortId("9f31c07a52e8"), "9f31c07a52e8");
});

test("time left is guessed once there is something to guess from", () => {
  const task = { id: 1, label: "Reading", began: 0, progress: { stage: "reading", done: 25, total: 100 }, cancel: null } as const;
  assert.equal(timeLeft(task, 4_000), "");
  assert.equal(timeLeft(task, 6_000), ", 18 s left");
  assert.equal(timeLeft({ ...task, progress: { stage: "reading", done: 25 } }, 60_000), "");
});
