import assert from "node:assert/strict";
import { test } from "node:test";
import { coverageParts, keepPlaces, ledgerGroups, shareInGroup, unnamedPart } from "../src/ledger/coverage.ts";
import { groupId } from "../src/ledger/identity.ts";
import { describeWhen } from "../src/ledger/modified.ts";
import { byInterest, describeAnswers, describeDrop, fullReason, whatItDid } from "../src/ledger/outcome.ts";
import type { Coverage, DsoRow, DsoStatus, ServerAnswer } from "../src/session/types.ts";
import { readViewAnswers } from "../src/worker/view_answers.ts";

function row(name: string, status: DsoStatus, leafShare: number, samples = 10, unnamed = 0): DsoRow {
  return {
    id: 0,
    name,
    path: `/usr/lib/${name}`,
    listed_as: null,
    kind: "user",
    build_id: null,
    identity: "none",
    recorded_by: null,
    leaf_samples: Math.round(leafShare * 1000),
    samples,
    sampled: samples > 0,
    unnamed_leaf_samples: unnamed,
    leaf_share: leafShare,
    share: leafShare,
    status,
    reason: null,
    image: null,
    gives: null,
    found: null,
    made_by: null,
    tried: [],
    hints: [],
  };
}

const ROWS = [
  row("b", "missing", 0.1),
  row("a", "matched", 0.4, 10, 100),
  row("c", "embedded", 0.2),
  row("d", "mismatched", 0.25),
  row("e", "no-identity", 0.05),
  row("g", "no-symbols", 0.02),
  row("f", "missing", 0, 0),
];
// A tenth of the samples ends in "a" at addresses that have no name.
const COVERAGE = coverageOf(1000, 500, {
  matched: 400,
  embedded: 200,
  mismatched: 250,
  missing: 80,
  "no-symbols": 20,
  "no-identity": 50,
});

function coverageOf(samples: number, named_leaves: number, by_status: Record<string, number>, forced_leaves = 0): Coverage {
  return { frames: 0, named: 0, forced: 0, samples, named_leaves, forced_leaves, by_status, truncated_stacks: 0 };
}

function parts(samples: number, named_leaves: number, by_status: Record<string, number>, forced_leaves = 0): [string, number][] {
  return coverageParts(coverageOf(samples, named_leaves, by_status, forced_leaves)).map(({ status, percent }) => [
    status,
    percent,
  ]);
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

test("the headline does not change with what becomes of the rest", () => {
  const alone = parts(10_000, 496, { matched: 496, missing: 9504 });
  const parted = parts(10_000, 496, { matched: 496, missing: 4757, mismatched: 4747 });
  assert.deepEqual(
    [alone[0], parted[0]],
    [
      ["named", 5],
      ["named", 5],
    ],
  );
});

test("what ended in no mapping is counted too", () => {
  assert.deepEqual(parts(3, 1, { matched: 1, missing: 1 }), [
    ["named", 33.3],
    ["missing", 33.4],
    ["no-identity", 33.3],
  ]);
});

test("forced names are a part of their own and never count as named", () => {
  assert.deepEqual(parts(10, 5, { matched: 5, forced: 5 }, 4), [
    ["named", 50],
    ["forced", 40],
    ["no-symbol", 10],
  ]);
});

test("a profile without samples has no parts", () => {
  assert.deepEqual(parts(0, 0, {}), []);
});

test("the first row is the next file to add", () => {
  const { groups, named, listed, unused, largest } = ledgerGroups(ROWS, "to-name", COVERAGE);
  assert.deepEqual(
    groups.map(({ title, rows }) => [title, rows.map(({ name }) => name)]),
    [
      ["Unnamed", ["d", "b", "e", "g"]],
      ["Named", ["a", "c"]],
    ],
  );
  assert.deepEqual({ named, listed, unused, largest }, { named: 2, listed: 6, unused: 1, largest: 0.4 });
  assert.deepEqual(
    ledgerGroups(ROWS, "name", COVERAGE).groups.map(({ rows }) => rows.map(({ name }) => name)),
    [["a", "b", "c", "d", "e", "g"]],
  );
});

test("memory without a file is one line, where there are three areas or more", () => {
  const area = (share: number): DsoRow => ({ ...row("//anon", "no-identity", share), kind: "anon" });
  const some = (count: number) => ledgerGroups([row("a", "matched", 0.4), ...Array(count).fill(area(0.2))], "to-name", COVERAGE);
  assert.deepEqual(
    some(2).groups[0]?.rows.map(({ name }) => name),
    ["//anon", "//anon"],
  );
  const [unnamed] = some(3).groups;
  assert.deepEqual(unnamed?.rows, []);
  assert.equal(unnamed?.rests[0]?.words, "3 areas of memory without a file");
  assert.ok(Math.abs((unnamed?.rests[0]?.share ?? 0) - 0.6) < 1e-9);
});

test("what is named has the share of the headline, and the groups add up", () => {
  const shares = ledgerGroups(ROWS, "to-name", COVERAGE).groups.map(({ title, share }) => [title, share]);
  assert.deepEqual(shares, [
    ["Unnamed", 0.5],
    ["Named", 0.5],
  ]);
  assert.deepEqual(coverageParts(COVERAGE)[0], { status: "named", percent: 50, share: 0.5 });
});

test("code without a name in matched files is said, of each and of all, where every DSO has a file", () => {
  const [one, two] = [row("a", "matched", 0.6, 10, 400), row("b", "embedded", 0.36, 10, 20)];
  const all = coverageOf(1000, 540, { matched: 600, embedded: 360, "no-identity": 0 });
  const { groups } = ledgerGroups([one, two], "to-name", all);
  const round = (share: number): number => Math.round(share * 1000) / 1000;
  assert.deepEqual(
    groups.map(({ title, share, rows, rests }) => [
      title,
      round(share),
      rows.map((each) => round(shareInGroup(title, each))),
      rests.map((rest) => [rest.words, round(rest.share)]),
    ]),
    [
      [
        "Unnamed",
        0.46,
        [],
        [
          ["Code without a name in named DSOs", 0.42],
          ["In no mapping", 0.04],
        ],
      ],
      ["Named", 0.54, [0.2, 0.34], []],
    ],
  );
  assert.equal(unnamedPart(one)?.replace(/\s/g, " "), "40.0 % more in code without a name");
  assert.equal(unnamedPart(row("c", "matched", 0.5)), null);
  assert.equal(unnamedPart(row("d", "missing", 0.5, 10, 500)), null);
});

test("what ended in a file without symbols has no symbol", () => {
  assert.deepEqual(parts(10, 2, { matched: 4, "no-symbols": 6 }), [
    ["named", 20],
    ["no-symbol", 80],
  ]);
});

test("ids are grouped by four, and groups that differ are marked", () => {
  assert.deepEqual(groupId("9f31c07a52", "9f31c17a52"), [
    { text: "9f31", differs: false },
    { text: "c07a", differs: true },
    { text: "52", differs: false },
  ]);
  // Ids of two lengths: what the other lacks differs.
  assert.deepEqual(
    groupId("aabbccdd", "aabb").map(({ differs }) => differs),
    [false, true],
  );
});

test("a drop says what was used and why the rest was not", () => {
  const report = {
    used: [{ name: "nginx", dsos: [1], gives: "inlines", by: ["first" as const] }],
    notUsed: [
      {
        name: "edge-auth",
        by: "first" as const,
        message: "",
        reason: { kind: "nothing-recorded-has-it" as const, found: "41b7", sameName: { dso: 2, wanted: "9f31" } },
      },
      {
        name: "README",
        by: "first" as const,
        message: "",
        reason: { kind: "not-an-image" as const, firstBytes: [0x23, 0x20, 0x4e, 0x6f, 0x74] },
      },
    ],
    passedOver: 0,
  };
  assert.equal(describeDrop(report), "Used 1 of 3 files: nginx. Not used: edge-auth (another build), README (not a binary).");
  assert.deepEqual(report.notUsed.map(fullReason), [
    "Another build: the file has 41b7, the profile has 9f31.",
    "Not a binary or debug file: it begins with 23 20 4e 6f.",
  ]);
  // Of two profiles it says which take names from it.
  const roles = { first: "After", second: "Before" };
  const used = [
    { name: "app", dsos: [0], gives: "inlines", by: ["second" as const] },
    { name: "libc.so.6", dsos: [1], gives: "inlines", by: ["first" as const, "second" as const] },
  ];
  assert.equal(
    describeDrop({ used, notUsed: [], passedOver: 0 }, roles),
    "Used 2 of 2 files: app (Before), libc.so.6 (After and Before).",
  );
  // The files in an archive count, the archive does not.
  assert.equal(describeDrop({ ...report, notUsed: [], passedOver: 4000 }), "Used 1 of 4,001 files: nginx.");
});

test("a refusal that the page has no words for is said in the session's", () => {
  const refused = { reason: { kind: "no-identity-in-file" as const }, message: "the file has no build-id" };
  assert.equal(fullReason(refused), "The file has no build-id.");
});

test("of many refusals, another build comes first and files that are no binaries last", () => {
  const refused = (["not-an-image", "no-identity-in-file"] as const).map((kind) => ({
    reason: kind === "not-an-image" ? { kind, firstBytes: [] } : { kind },
  }));
  const build = { reason: { kind: "nothing-recorded-has-it" as const, found: "a", sameName: { dso: 1, wanted: "b" } } };
  const stranger = { reason: { kind: "nothing-recorded-has-it" as const, found: "a", sameName: null } };
  assert.deepEqual(byInterest([...refused, stranger, build]), [build, refused[1], stranger, refused[0]]);
});

const answer = (server: string, outcome: ServerAnswer["outcome"], detail = ""): ServerAnswer => ({ server, outcome, detail });

test("of one server each outcome has its own words, of several each server its name", () => {
  const alone = (outcome: ServerAnswer["outcome"], detail = ""): string | null =>
    describeAnswers([answer("d.example", outcome, detail)]);
  assert.equal(alone("not-found"), "Not on d.example");
  assert.equal(alone("unreachable"), "Server did not answer. If the browser blocks it, use perftab view");
  assert.equal(alone("wrong-id", "41b7"), "It sent another build; not used");
  assert.equal(alone("no-cors"), "d.example does not let web pages read its answers (no CORS). Use perftab view.");
  assert.equal(alone("failed", "answered 500"), "d.example: answered 500");
  assert.equal(alone("found"), null);
  assert.equal(describeAnswers([]), null);
  assert.equal(describeAnswers([answer("a", "not-found"), answer("b", "not-found")]), "Not on a, nor on b");
  assert.equal(
    describeAnswers([answer("a", "not-found"), answer("b", "unreachable"), answer("c", "wrong-id", "41b7")]),
    "b did not answer; c sent another build, 41b7; not used",
  );
  assert.equal(describeAnswers([answer("a", "unreachable"), answer("b", "found")]), null);
  assert.equal(whatItDid(answer("a", "too-large")), "has a file over 4 GB; not fetched");
});

test("what perftab view says of its servers is read with suspicion", () => {
  const said = (status: number, text: string): string | null => describeAnswers(readViewAnswers(status, text));
  const servers = [
    { server: "d.example.org", outcome: "not-found", detail: "" },
    { server: "e.example.org", outcome: "not-found" },
  ];
  assert.equal(said(404, ""), "Not on this machine");
  assert.equal(said(404, JSON.stringify({ servers: [] })), "Not on this machine");
  assert.equal(said(404, JSON.stringify({ servers })), "Not on this machine, nor on d.example.org, nor on e.example.org");
  const failed = [{ server: "127.0.0.1:1", outcome: "unreachable", detail: "127.0.0.1:1 can't be reached: refused" }];
  assert.equal(said(502, JSON.stringify({ servers: failed })), "127.0.0.1:1 can't be reached: refused");
  assert.equal(said(403, "this is not the token\nof this server\n"), "perftab view: this is not the token");
  assert.equal(said(500, ""), "perftab view: answered 500");
  assert.equal(said(502, JSON.stringify({ servers: [{ outcome: "new", detail: 3 }, null] })), ": failed");
});

test("the time of a file stands beside that of the recording", () => {
  const time = { start: 5e9, end: 65e9, wall_start: "2026-03-01T12:00:00Z" };
  const at = (clock: string): string => describeWhen(Date.parse(`2026-03-01T${clock}Z`), time, null);
  assert.equal(at("12:42:00"), "modified 41 min after the recording");
  assert.equal(at("12:00:30"), "modified during the recording");
  assert.equal(at("09:00:00"), "modified 3 h before the recording");
  assert.equal(at("11:59:59"), "modified 1 s before the recording");
  const clockless = { ...time, wall_start: null };
  const file = { name: "perf.data", modified: 4_000_000 };
  assert.equal(describeWhen(4_000_000 + 41 * 60_000, clockless, file), "modified 41 min after perf.data was written");
  assert.equal(describeWhen(1_000_000, clockless, file), "modified 50 min before perf.data was written");
  assert.equal(describeWhen(4_000_000, clockless, file), "modified when perf.data was written");
  assert.match(describeWhen(0, clockless, { ...file, modified: null }), /^modified .*1970/);
});

test("rows keep their places, and what is new comes behind them", () => {
  const rows = ["a", "b", "c", "d"].map((name, id) => ({ ...row(name, "missing", 0.4 - id / 10), id }));
  const before = ledgerGroups(rows.slice(0, 3), "to-name", COVERAGE).groups;
  const named = rows.map((each) => (each.id === 0 ? { ...each, status: "matched" as const } : each));
  const now = ledgerGroups(named.slice(1).concat(named.slice(0, 1)), "to-name", COVERAGE);
  const idsOf = ({ groups }: Pick<typeof now, "groups">): [string, number[]][] =>
    groups.map((group) => [group.title, group.rows.map(({ id }) => id)]);
  assert.deepEqual(idsOf(now), [
    ["Unnamed", [1, 2, 3]],
    ["Named", [0]],
  ]);
  const kept = keepPlaces(now, before);
  assert.deepEqual(idsOf(kept), [["Unnamed", [0, 1, 2, 3]]]);
  assert.equal(kept.groups[0]?.rows[0]?.status, "matched", "a row says what is known now");
  assert.deepEqual([kept.named, kept.listed, kept.largest], [now.named, now.listed, now.largest]);
  const without = ledgerGroups(named.slice(1), "to-name", COVERAGE);
  assert.deepEqual(idsOf(keepPlaces(without, before)), [["Unnamed", [1, 2, 3]]], "what is gone leaves no gap");
});
