// How the weights of two profiles are put into words, written and spoken.

import assert from "node:assert/strict";
import { test } from "node:test";
import { amount, difference, howCompared, spokenSides } from "../src/compare/words.ts";
import type { ComparedDetail, DsoPairRow } from "../src/session/types.ts";
import { Flag } from "../src/session/types.ts";
import { comparedItems } from "../src/compare/mirror_items.ts";

const plain = (text: string): string => text.replace(/\u202f/g, " ");

test("what a side has is a share or a weight, and nothing is none", () => {
  assert.deepEqual(
    [7.84, 0.01, 0].map((value) => plain(amount(value, "share", "cycles"))),
    ["7.8 %", "< 0.1 %", "none"],
  );
  assert.deepEqual([amount(2.5e9, "per-second", "cycles"), amount(2.5e9, "raw", "cycles")].map(plain), [
    "2.50 G cycles/s",
    "2.50 G cycles",
  ]);
});

test("a difference has a sign unless it rounds to nothing", () => {
  assert.deepEqual(
    [3.24, -0.21, 0.04, -0.04, 0].map((change) => difference(change, "share", "cycles")),
    ["+3.2", "−0.2", "0.0", "0.0", "0.0"],
  );
  assert.equal(plain(difference(-2.5e9, "raw", "cycles")), "−2.50 G cycles");
});

test("both sides are spoken", () => {
  assert.equal(spokenSides({ before: 2.7, after: 5.9 }, "share", "cycles"), "before 2.7 percent, after 5.9 percent");
  assert.equal(spokenSides({ before: 0, after: 0.01 }, "share", "cycles"), "before none, after less than 0.1 percent");
});

test("a pair says what it is compared by", () => {
  const pair = (relation: DsoPairRow["relation"], matched_by: DsoPairRow["matched_by"], named: boolean): DsoPairRow => ({
    name: "app",
    relation,
    matched_by,
    named,
    before_path: "/app",
    after_path: "/app",
    before_build_ids: [],
    after_build_ids: [],
    before: 1,
    after: 1,
    change: 0,
    without_names: null,
  });
  assert.equal(howCompared(pair("same-build", "address", true)), "compared by address");
  assert.equal(howCompared(pair("same-build", "address", false)), "unnamed, compared by address");
  assert.equal(howCompared(pair("two-builds", "name", true)), "compared by function name");
  assert.equal(howCompared(pair("only-before", "nothing", true)), "no samples after");
  assert.equal(
    howCompared({ ...pair("two-builds", "name", true), without_names: "before" }),
    "not comparable yet: Before lacks names for app",
  );
});

const CHANGE = { before: 2.7, after: 5.9, change: 3.2, step: 3, certain: true, beforeSamples: 27, afterSamples: 59 };
const row = (callNode: number, name: string, posInSet: number): ComparedDetail["siblings"][number] => ({
  callNode,
  name,
  dso: "app",
  flags: 0,
  presence: "both",
  before: 1,
  after: 2,
  posInSet,
  hasChildren: false,
});
const DETAIL: ComparedDetail = {
  callNode: 5,
  name: "find",
  functionId: 3,
  dso: "app",
  relation: "two-builds",
  presence: "both",
  withoutNames: null,
  kind: 1,
  flags: Flag.Forced,
  total: CHANGE,
  self: CHANGE,
  allCalls: null,
  path: [
    { callNode: 0, name: "all", flags: 0 },
    { callNode: 2, name: "main", flags: 0 },
    { callNode: 5, name: "find", flags: Flag.Forced },
  ],
  parent: 2,
  heaviestChild: 7,
  previousSibling: 4,
  nextSibling: null,
  setSize: 2,
  posInSet: 2,
  children: [row(7, "probe", 1)],
  siblings: [row(4, "lookup", 1), { ...row(5, "find", 2), flags: Flag.Forced }],
};

test("the tree tells of path, siblings and children, and of a forced name", () => {
  const items = comparedItems(DETAIL, { basis: "share", event: "cycles" }, true);
  assert.deepEqual(
    items.map(({ label, level, posInSet }) => [label.split(",")[0], level, posInSet]),
    [
      ["all", 1, 0],
      ["main", 2, 0],
      ["lookup", 3, 1],
      ["find", 3, 2],
      ["probe", 4, 1],
    ],
  );
  const words = "find, app, forced, before 2.7 percent, after 5.9 percent, change plus 3.2 points, beyond noise";
  assert.deepEqual(
    items.filter(({ selected }) => selected).map(({ label }) => label),
    [words],
  );
  const unknown = comparedItems({ ...DETAIL, withoutNames: "after" }, { basis: "share", event: "cycles" }, true);
  assert.deepEqual(
    unknown.filter(({ selected }) => selected).map(({ label }) => label),
    ["find, app, forced, before 2.7 percent, after 5.9 percent, not comparable yet"],
  );
});

test("of a function that is called elsewhere too, what its row in the changes says is told", () => {
  const allCalls = { withoutNames: null, total: { ...CHANGE, before: 10, after: 20 }, self: CHANGE };
  const label = (detail: ComparedDetail): string =>
    comparedItems(detail, { basis: "share", event: "cycles" }, true).find(({ selected }) => selected)?.label ?? "";
  assert.match(label({ ...DETAIL, allCalls }), /all calls before 10.0 percent, after 20.0 percent$/);
  assert.doesNotMatch(label(DETAIL), /all calls/);
});
