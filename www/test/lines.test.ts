import assert from "node:assert/strict";
import { test } from "node:test";
import type { BranchBlock, HotInstruction, HotLine, HotLines } from "../src/session/types.ts";
import { markedRows, rowsOf } from "../src/views/sandwich/lines/blocks.ts";
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
  check: "unknown",
});
const instruction = (address: string, lineRow: number | null, weight: number): HotInstruction => ({
  inlinedFunction: null,
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

test("a chosen instruction marks the basic block that it is in", () => {
  const block = (start: string, last: string, isBehind: boolean): BranchBlock => ({
    ...{ start, last, isBehind, isLeft: true, file: null, line: null, executions: 9, taken: 4, mispredicted: 0 },
    ...{ cycles: 0, timed: 0, ways: [], moreWays: 0 },
  });
  const blocks = [block("0x8", "0x14", false), block("0x14", "0x18", true), block("0x100", "0x104", false)];
  const rows = rowsOf({ blocks, executions: 27, leftOut: 0, across: 0, samples: 3, withoutRuns: 0 });
  // Each has a row for when its branch was not taken.
  assert.deepEqual(
    rows.map(({ kind, times }) => [kind, times]),
    blocks.flatMap(() => [
      ["block", 9],
      ["next", 5],
    ]),
  );
  const marked = (...addresses: string[]): number[] => {
    const instructions = addresses.map((address) => instruction(address, null, 1));
    return [...markedRows(rows, { kind: "line", file: null, line: 7 }, instructions)];
  };
  assert.deepEqual(marked("0x4"), []);
  assert.deepEqual(marked("0x8"), [0]);
  assert.deepEqual(marked("0x14"), [0]);
  assert.deepEqual(marked("0x14", "0x18"), [0, 2]);
  assert.deepEqual(marked("0x4", "0x16", "0x104", "0x108"), [2, 4]);
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
  // A basic block marks its instructions and their lines; one behind a branch does not have that.
  const block = { kind: "block" as const, start: "0x10", last: "0x14", way: null };
  assert.deepEqual(marked({ ...block, isBehind: false }), [[0], [0, 1]]);
  assert.deepEqual(marked({ ...block, isBehind: true }), [[0], [1]]);
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
