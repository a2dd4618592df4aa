import assert from "node:assert/strict";
import { test } from "node:test";
import type { HotInstruction, HotLine, HotLines } from "../src/session/types.ts";
import {
  hasLines,
  heatStep,
  lineWords,
  marksOf,
  nextHot,
  placeOfInstruction,
  placeOfLine,
} from "../src/views/sandwich/lines/hot_lines.ts";

const nothing = { samples: 0, weight: 0 };
const line = (number: number | null, weight: number): HotLine => ({
  file: "/src/tides.c",
  line: number,
  samples: weight,
  weight,
  inlined: nothing,
  text: null,
});
const instruction = (address: string, lineRow: number | null, weight: number): HotInstruction => ({
  address,
  line: lineRow,
  lineRow,
  samples: weight,
  weight,
  inlined: nothing,
  text: null,
});

const HEAT: HotLines = {
  self: { samples: 1000, weight: 1000 },
  lines: [line(7, 500), line(8, 5), line(12, 400), line(null, 95)],
  instructions: [
    instruction("0x10", 0, 300),
    instruction("0x14", 0, 200),
    instruction("0x18", 2, 400),
    instruction("0x1c", null, 100),
  ],
  leftOut: nothing,
  instructionsLeftOut: nothing,
};

test("heat has five steps, of shares of the function", () => {
  const steps = [0, 0.0001, 0.0059, 0.006, 0.02, 0.05, 0.0899, 0.09, 1].map(heatStep);
  assert.deepEqual(steps, [0, 1, 1, 2, 3, 4, 4, 5, 5]);
});

test("a line marks its instructions, and an instruction its line", () => {
  const marked = (place: Parameters<typeof marksOf>[1]): number[][] => {
    const { lines, instructions } = marksOf(HEAT, place);
    return [[...lines], [...instructions]];
  };
  assert.deepEqual(marked(placeOfLine(line(7, 1))), [[0], [0, 1]]);
  assert.deepEqual(marked(placeOfLine(line(8, 1))), [[1], []]);
  assert.deepEqual(marked(placeOfInstruction(instruction("0x18", 2, 1))), [[2], [2]]);
  assert.deepEqual(marked(placeOfInstruction(instruction("0x1c", null, 1))), [[], [3]]);
  // What a filter took away is chosen no more.
  assert.deepEqual(marked(placeOfLine(line(99, 1))), [[], []]);
  assert.deepEqual(marked(null), [[], []]);
});

test("the next hot line passes over those that are not, and stays where there is none", () => {
  assert.equal(nextHot(HEAT, null, "next"), 0);
  assert.equal(nextHot(HEAT, 0, "next"), 2);
  assert.equal(nextHot(HEAT, 3, "next"), null);
  assert.equal(nextHot(HEAT, null, "previous"), 3);
  assert.equal(nextHot(HEAT, 2, "previous"), 0);
  const cold = { ...HEAT, self: { samples: 1e6, weight: 1e6 } };
  assert.equal(nextHot(cold, 0, "next"), 1, "where nothing is hot every line is");
  assert.equal(nextHot({ ...HEAT, lines: [] }, null, "next"), null);
});

test("what is not known of a line is said", () => {
  assert.equal(lineWords(line(7, 1)), "tides.c:7");
  assert.equal(lineWords(line(null, 1)), "tides.c, no line");
  assert.equal(lineWords({ file: null, line: 7 }), "unknown file:7");
  assert.equal(lineWords({ file: null, line: null }), "unknown line");
  assert.ok(hasLines(HEAT));
  assert.ok(!hasLines({ ...HEAT, lines: [line(null, 1)] }));
});
