import assert from "node:assert/strict";
import { test } from "node:test";
import type { FunctionRef, Query } from "../src/session/types.ts";
import { chipsOf, ranges } from "../src/shell/chips.ts";
import { eventTasks } from "../src/state/event_tasks.ts";
import { DEFAULT_QUERY } from "../src/state/query_text.ts";

const libz = { path: "/usr/lib/libz.so.1", buildId: null };
const deflate: FunctionRef = { dso: libz, name: "deflate", address: null };
const unnamed: FunctionRef = { dso: libz, name: null, address: "0x1b8f70" };

const words = (change: Partial<Query>): string[] =>
  chipsOf({ ...DEFAULT_QUERY, ...change }).map(({ word, text }) => `${word} ${text}`.trim());

test("nothing that filters, no chip", () => {
  assert.deepEqual(words({}), []);
  assert.deepEqual(words({ event: 1, direction: "inverted", group: "none", inlines: "merged" }), []);
});

test("filters come before steps, and steps in order of effect", () => {
  assert.deepEqual(
    words({
      steps: [
        { kind: "drop", function: deflate },
        { kind: "merge", function: unnamed },
        { kind: "collapse-dso", dso: libz },
        { kind: "collapse-recursion" },
        { kind: "focus-subtree", direction: "callees", path: [{ kind: "process", name: "nginx" }] },
        { kind: "search", text: "zlib" },
      ],
      cpus: [0, 1, 2, 7],
      range: { start: 21_600_000_000, end: 31_850_000_000, side: "inside" },
      dsos: [libz],
    }),
    [
      "Range 21.60 s to 31.85 s",
      "CPUs 0–2, 7",
      "Ends in libz.so.1",
      "Drop function deflate",
      "Merge libz.so.1+0x1b8f70",
      "Collapse libz.so.1",
      "Collapse recursion",
      "Focus subtree nginx",
      "Matching “zlib”",
    ],
  );
});

test("processes and threads have their names once they are known", () => {
  assert.deepEqual(words({ processes: [7], threads: [8, 9, 10] }), ["Process 7", "Threads 8 and 2 more"]);
  eventTasks.value = {
    processes: [{ pid: 7, name: "nginx", samples: 1, weight: 1, threads: [{ tid: 8, name: "worker", samples: 1, weight: 1 }] }],
    cpus: [],
  } as unknown as typeof eventTasks.value;
  assert.deepEqual(words({ processes: [7], threads: [8, 9] }), ["Process nginx 7", "Threads worker 8, 9"]);
});

test("runs of numbers are written as runs", () => {
  assert.equal(ranges([0]), "0");
  assert.equal(ranges([0, 1]), "0–1");
  assert.equal(ranges([0, 2, 3, 4, 9]), "0, 2–4, 9");
});
