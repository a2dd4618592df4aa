// What the fields of the menus of processes and CPUs stand for.

import assert from "node:assert/strict";
import { test } from "node:test";
import { cpusOf, listed, meant } from "../src/shell/found_tasks.ts";

const task = (pid: number, name: string, threads: [number, string][] = []) => ({
  pid,
  name,
  threads: [[pid, name] as const, ...threads].map(([tid, each]) => ({ tid, name: each })),
});
const PROCESSES = [
  task(10, "worker-5"),
  task(11, "worker-50"),
  task(120, "Postgres", [
    [121, "writer"],
    [122, "worker-5"],
  ]),
];

test("a whole name means what is called so, and a part of one whatever has it", () => {
  assert.deepEqual(meant(PROCESSES, "worker-5"), { processes: [10], threads: [] });
  assert.deepEqual(meant(PROCESSES, "worker"), { processes: [10, 11], threads: [] });
  assert.deepEqual(meant(PROCESSES, "postgres"), { processes: [120], threads: [] });
  assert.equal(meant(PROCESSES, "nobody"), null);
});

test("numbers are PIDs before they are TIDs", () => {
  assert.deepEqual(meant(PROCESSES, "11"), { processes: [11], threads: [] });
  assert.deepEqual(meant(PROCESSES, "121"), { processes: [], threads: [121] });
  assert.deepEqual(meant(PROCESSES, "1"), { processes: [10, 11, 120], threads: [] });
});

test("threads are meant where no process is, and their processes are listed", () => {
  assert.deepEqual(meant(PROCESSES, "writ"), { processes: [], threads: [121] });
  assert.deepEqual(
    listed(PROCESSES, "worker-5").map(({ pid }) => pid),
    [10, 11, 120],
  );
});

test("CPUs are numbers and ranges of those that there are", () => {
  const there = [0, 1, 2, 3, 8, 9];
  assert.deepEqual(cpusOf("0-2, 9", there), [0, 1, 2, 9]);
  assert.deepEqual(cpusOf("3–100", there), [3, 8, 9]);
  for (const wrong of ["", "a", "1-", "4-7", "1,,2", "-3"]) assert.equal(cpusOf(wrong, there), null, wrong);
});
