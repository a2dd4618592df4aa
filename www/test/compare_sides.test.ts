// What of the first profile's filters the second is asked for.

import assert from "node:assert/strict";
import { test } from "node:test";
import { secondSide } from "../src/compare/sides.ts";
import type { DsoRow, FunctionRef, Query } from "../src/session/types.ts";
import { DEFAULT_QUERY } from "../src/state/query_text.ts";

const row = (path: string, id: string | null): DsoRow => ({ path, build_id: id }) as DsoRow;
const THERE = [row("/opt/server", "22"), row("/usr/lib/libc.so.6", "33"), row("/srv/run/tool", null)];

const called = (path: string, buildId: string | null, name: string | null): FunctionRef => ({
  dso: { path, buildId },
  name,
  address: name === null ? "0x10" : null,
});
const side = (asked: Partial<Query>) => secondSide({ ...DEFAULT_QUERY, ...asked }, 4, THERE);

test("what goes by names is asked of the DSOs that are called alike", () => {
  const { query, left } = side({
    comms: ["worker"],
    dsos: [
      { path: "/opt/server", buildId: "11" },
      { path: "/lib/libc.so.6", buildId: "33" },
      { path: "/tmp/tool", buildId: null },
    ],
    steps: [
      { kind: "search", text: "dso:server" },
      { kind: "drop", function: called("/opt/server", "11", "wait") },
      { kind: "focus", function: called("/usr/lib/libc.so.6", "33", null) },
      {
        kind: "focus-subtree",
        direction: "callees",
        path: [
          { kind: "process", name: "server" },
          { kind: "function", function: called("/opt/server", "11", "main") },
        ],
      },
    ],
  });
  assert.deepEqual(left, []);
  assert.equal(query.event, 4);
  assert.deepEqual(query.comms, ["worker"]);
  assert.deepEqual(query.dsos, [
    { path: "/opt/server", buildId: "22" },
    { path: "/usr/lib/libc.so.6", buildId: "33" },
    { path: "/srv/run/tool", buildId: null },
  ]);
  assert.deepEqual(query.steps, [
    { kind: "search", text: "dso:server" },
    { kind: "drop", function: called("/opt/server", "22", "wait") },
    { kind: "focus", function: called("/usr/lib/libc.so.6", "33", null) },
    {
      kind: "focus-subtree",
      direction: "callees",
      path: [
        { kind: "process", name: "server" },
        { kind: "function", function: called("/opt/server", "22", "main") },
      ],
    },
  ]);
});

test("what is numbered or in time is of the first only, and so is code without a name in another build", () => {
  const { query, left } = side({
    range: { start: 1, end: 2, side: "inside" },
    processes: [1],
    threads: [2],
    cpus: [0],
    steps: [{ kind: "merge", function: called("/opt/server", "11", null) }, { kind: "collapse-recursion" }],
  });
  assert.deepEqual(left, ["time range", "PIDs", "TIDs", "CPUs", "unnamed code"]);
  assert.deepEqual(query, { ...DEFAULT_QUERY, event: 4, steps: [{ kind: "collapse-recursion" }] });
});

test("a DSO that the second has not is asked for all the same", () => {
  assert.deepEqual(side({ dsos: [{ path: "/opt/gone", buildId: "99" }] }).query.dsos, [{ path: "/opt/gone", buildId: "99" }]);
});
