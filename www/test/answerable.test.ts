import assert from "node:assert/strict";
import { test } from "node:test";
import { answerable, listed } from "../src/open/answerable.ts";
import type { Query } from "../src/session/types.ts";
import { DEFAULT_QUERY } from "../src/state/query_text.ts";

const ASKED: Query = {
  ...DEFAULT_QUERY,
  direction: "inverted",
  range: { start: 1, end: 2, side: "inside" },
  processes: [7],
  cpus: [0],
  steps: [{ kind: "collapse-recursion" }],
};

test("what needs single samples is asked only where there are some", () => {
  assert.deepEqual(answerable(ASKED, null), { query: ASKED, without: [] });
  assert.deepEqual(answerable(ASKED, "samples"), { query: ASKED, without: [] });
  assert.deepEqual(answerable(ASKED, "processes"), { query: { ...ASKED, range: null, cpus: [] }, without: ["range", "CPUs"] });
  assert.deepEqual(answerable(ASKED, "none").query.processes, []);
  assert.deepEqual(answerable({ ...ASKED, range: null, cpus: [] }, "threads").without, []);
});

test("what was not asked is listed", () => {
  assert.equal(listed(["range"]), "range");
  assert.equal(listed(["range", "threads", "CPUs"]), "range, threads and CPUs");
});
