import assert from "node:assert/strict";
import { test } from "node:test";
import { coverageParts, ledgerGroups } from "../src/ledger/coverage.ts";
import { absentHere } from "../src/ledger/debuginfod.ts";
import { groupId } from "../src/ledger/identity.ts";
import { byInterest, describeDrop, describeFetch, fullReason } from "../src/ledger/outcome.ts";
import type { DsoRow, DsoStatus } from "../src/session/types.ts";

function row(name: string, status: DsoStatus, leafShare: number, samples = 10): DsoRow {
  return {
    id: 0,
    name,
    path: `/usr/lib/${name}`,
    listed_as: null,
    kind: "user",
    build_id: null,
    identity: "none",
    recorded_by: null,
    leaf_samples: 0,
    samples,
    leaf_share: leafShare,
    share: leafShare,
    status,
    reason: null,
    image: null,
    gives: null,
    found: null,
  };
}

const ROWS = [
  row("b", "missing", 0.1),
  row("a", "matched", 0.4),
  row("c", "embedded", 0.2),
  row("d", "mismatched", 0.25),
  row("e", "no-identity", 0.05),
  row("f", "missing", 0, 0),
];

function parts(samples: number, named_leaves: number, by_status: Record<string, number>, forced_leaves = 0): [string, number][] {
  const coverage = { frames: 0, named: 0, forced: 0, samples, named_leaves, forced_leaves, by_status, truncated_stacks: 0 };
  return coverageParts(coverage).map(({ status, percent }) => [status, percent]);
}

test("coverage counts samples that end in a named frame, and every part adds up to 100.0", () => {
  assert.deepEqual(parts(1000, 590, { matched: 400, embedded: 200, mismatched: 250, missing: 100, "no-identity": 50 }), [
    ["named", 59],
    ["mismatched", 25],
    ["missing", 10],
    ["no-symbol", 1],
    ["no-identity", 5],
  ]);
});

test("what ended in no mapping is counted too", () => {
  assert.deepEqual(parts(3, 1, { matched: 1, missing: 1 }), [["named", 33.4], ["missing", 33.3], ["no-identity", 33.3]]);
});

test("forced names are a part of their own and never count as named", () => {
  assert.deepEqual(parts(10, 5, { matched: 5, forced: 5 }, 4), [["named", 50], ["forced", 40], ["no-symbol", 10]]);
});

test("a profile without samples has no parts", () => {
  assert.deepEqual(parts(0, 0, {}), []);
});

test("the first row is the next thing to drop", () => {
  const { groups, named, listed, unused, largest } = ledgerGroups(ROWS, "to-name");
  assert.deepEqual(groups.map(({ title, rows }) => [title, rows.map(({ name }) => name)]), [
    ["To be named", ["d", "b", "e"]],
    ["Named", ["a", "c"]],
  ]);
  assert.deepEqual({ named, listed, unused, largest }, { named: 2, listed: 5, unused: 1, largest: 0.4 });
  assert.deepEqual(ledgerGroups(ROWS, "name").groups.map(({ rows }) => rows.map(({ name }) => name)), [["a", "b", "c", "d", "e"]]);
});

test("ids are grouped by four, and groups that differ are marked", () => {
  assert.deepEqual(groupId("9f31c07a52", "9f31c17a52"), [
    { text: "9f31", differs: false },
    { text: "c07a", differs: true },
    { text: "52", differs: false },
  ]);
  // Ids of two lengths: what the other lacks differs.
  assert.deepEqual(groupId("aabbccdd", "aabb").map(({ differs }) => differs), [false, true]);
});

test("a drop says what was used and why the rest was not", () => {
  const report = {
    used: [{ file: "nginx", dsos: [1], gives: "inlines" }],
    notUsed: [
      {
        file: "edge-auth",
        message: "",
        reason: { kind: "nothing-recorded-has-it" as const, found: "41b7", sameName: { dso: 2, wanted: "9f31" } },
      },
      { file: "README", message: "", reason: { kind: "not-an-image" as const, firstBytes: [0x23, 0x20, 0x4e, 0x6f, 0x74] } },
    ],
  };
  assert.equal(describeDrop(3, report), "Used 1 of 3 files: nginx. Not used: edge-auth (another build), README (not a binary).");
  assert.deepEqual(report.notUsed.map(({ reason }) => fullReason(reason)), [
    "Another build: it is 41b7, the profile has 9f31.",
    "Not a binary or debug file: it begins with 23 20 4e 6f.",
  ]);
});

test("of many refusals, another build comes first and files that are no binaries last", () => {
  const refused = (["not-an-image", "no-identity-in-file"] as const).map((kind) => ({
    reason: kind === "not-an-image" ? { kind, firstBytes: [] } : { kind },
  }));
  const build = { reason: { kind: "nothing-recorded-has-it" as const, found: "a", sameName: { dso: 1, wanted: "b" } } };
  const stranger = { reason: { kind: "nothing-recorded-has-it" as const, found: "a", sameName: null } };
  assert.deepEqual(byInterest([...refused, stranger, build]), [build, refused[1], stranger, refused[0]]);
});

test("what perftab view does not find is on no machine that it asked", () => {
  const words = (upstream: string[]): string | null => describeFetch(absentHere(upstream), { outcome: "not-found" });
  assert.equal(words([]), "Not on this machine");
  assert.equal(words(["https://d.example.org/"]), "Not on this machine, nor on d.example.org");
  const message = "http://127.0.0.1:1 answered 500";
  assert.equal(describeFetch(words([]) ?? "", { outcome: "refused", message }), message);
});
