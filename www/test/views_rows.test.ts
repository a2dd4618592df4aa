import assert from "node:assert/strict";
import { test } from "node:test";
import { Cancelled } from "../src/session/client.ts";
import type { CallTreeRows, DsoStatus } from "../src/session/types.ts";
import { ALL, Flag, Kind } from "../src/session/types.ts";
import { mirrorItems, spokenCall } from "../src/views/flame/mirror_items.ts";
import { latest } from "../src/views/latest.ts";
import { rowAfterLeft, rowAfterRight, visibleTreeRows } from "../src/views/rows/tree_rows.ts";
import { rowAfterKey, rowWindow, scrollToRow } from "../src/views/rows/window.ts";

/** Rows for call nodes; one whose children are counted is written `[number, children]`. */
function rows(...nodes: [callNode: number, children: number][]): CallTreeRows {
  return {
    callNode: Uint32Array.from(nodes, ([callNode]) => callNode),
    depth: new Uint16Array(nodes.length),
    childCount: Uint32Array.from(nodes, ([, children]) => children),
    total: new Float64Array(nodes.length).fill(50),
    self: new Float64Array(nodes.length).fill(1),
    functionId: Uint32Array.from(nodes, ([callNode]) => callNode),
    kind: new Uint8Array(nodes.length).fill(Kind.Own),
    flags: new Uint8Array(nodes.length),
    names: nodes.map(([callNode]) => `f${callNode}`),
    dsos: nodes.map(() => "prog"),
    dso: new Uint32Array(nodes.length),
    samples: new Float64Array(nodes.length).fill(500),
    posInSet: Uint32Array.from(nodes, (_, i) => i + 1),
    setSize: new Uint32Array(nodes.length).fill(nodes.length),
  };
}

const tree = new Map([
  [ALL, rows([1, 2], [2, 0])],
  [1, rows([3, 1], [4, 0])],
  [3, rows([5, 0])],
]);

const shown = (...open: number[]): string =>
  visibleTreeRows(tree, new Set(open))
    .map((row) => `${row.depth}:${row.callNode}`)
    .join(" ");

test("open call nodes show their children, in order and depth", () => {
  assert.equal(shown(), "0:1 0:2");
  assert.equal(shown(1), "0:1 1:3 1:4 0:2");
  assert.equal(shown(1, 3), "0:1 1:3 2:5 1:4 0:2");
  assert.equal(shown(3), "0:1 0:2", "open below a closed one");
  assert.equal(shown(2, 9), "0:1 0:2", "open but not loaded");
  assert.deepEqual(visibleTreeRows(new Map(), new Set()), []);
});

test("a path of 100,000 calls is listed without deep recursion", () => {
  const deep = new Map<number, CallTreeRows>();
  for (let i = 0; i < 100_000; i++) {
    deep.set(i, rows([i + 1, 1]));
  }
  assert.equal(visibleTreeRows(deep, new Set(Array.from({ length: 99_999 }, (_, i) => i + 1))).length, 100_000);
});

test("Right opens, then goes in; Left closes, then goes out", () => {
  const open = new Set([1]);
  const list = visibleTreeRows(tree, open);
  assert.equal(rowAfterRight(list, 0, open), 1);
  assert.equal(rowAfterRight(list, 1, open), "open");
  assert.equal(rowAfterRight(list, 2, open), null);
  assert.equal(rowAfterLeft(list, 0, open), "close");
  assert.equal(rowAfterLeft(list, 2, open), 0);
  assert.equal(rowAfterLeft(list, 3, open), null);
  assert.equal(rowAfterLeft(list, 99, open), null);
});

test("rows in sight, and the nearest scroll to one", () => {
  const size = { count: 1000, rowHeight: 20, height: 100 };
  assert.deepEqual(rowWindow(0, size), [0, 13]);
  assert.deepEqual(rowWindow(2000, size), [92, 113]);
  assert.deepEqual(rowWindow(19_900, size), [987, 1000]);
  assert.deepEqual(rowWindow(50_000, { ...size, count: 3 }), [3, 3]);
  assert.equal(scrollToRow(0, 3, size), 0);
  assert.equal(scrollToRow(0, 5, size), 20);
  assert.equal(scrollToRow(500, 3, size), 60);
  assert.equal(rowAfterKey("PageDown", 0, size), 4);
  assert.equal(rowAfterKey("End", 0, size), 999);
  assert.equal(rowAfterKey("ArrowUp", 0, size), 0);
  assert.equal(rowAfterKey("x", 0, size), null);
  assert.equal(rowAfterKey("End", -1, { ...size, count: 0 }), null);
});

/** A path from the root to a call node 42, which is the 151st of 300. */
function path(depth: number): CallTreeRows {
  const above = Array.from({ length: depth }, (_, i): [number, number] => [i + 1, 1]);
  const made = rows([ALL, 1], ...above, [42, 500]);
  made.depth.set(made.depth.map((_, at) => at));
  made.posInSet.fill(1).set([151], depth + 1);
  made.setSize.fill(1).set([300], depth + 1);
  return made;
}

const spoken = { several: null, selected: true, whole: 1000, statusOf: (): DsoStatus => "matched" };

test("a call is spoken in full", () => {
  const call = rows([42, 0]);
  call.names[0] = "longest_match";
  call.dsos[0] = "libz.so.1.3.1";
  call.total[0] = call.self[0] = 78;
  call.samples[0] = 7482;
  const words = "longest_match, libz.so.1.3.1, matched, total 7.8 percent, self 7.8 percent, 7,482 samples";
  assert.equal(spokenCall(call, 0, spoken), words);
  call.flags[0] = Flag.Inlined;
  assert.match(spokenCall(call, 0, spoken), /, matched, inlined, total/);
  call.flags[0] = Flag.Forced;
  assert.match(spokenCall(call, 0, spoken), /, forced, total/);
  call.self[0] = 0.1;
  assert.match(spokenCall(call, 0, spoken), /self less than 0.1 percent/);
});

test("the mirror holds path, siblings and children in order, 200 items at most", () => {
  const many = (from: number, count: number, depth: number): CallTreeRows => {
    const made = rows(...Array.from({ length: count }, (_, i): [number, number] => [from + i, 0]));
    made.depth.fill(depth);
    return made;
  };
  const siblings = many(1000, 300, 3);
  siblings.callNode[150] = 42;
  const items = mirrorItems({ ...spoken, path: path(2), siblings, children: many(5000, 500, 4) });
  assert.ok(items.length <= 200, `${items.length}`);
  assert.equal(items.filter((item) => item.selected).length, 1);
  assert.deepEqual(
    items.slice(0, 3).map((item) => [item.key, item.level]),
    [
      ["node-0", 1],
      ["node-1", 2],
      ["node-2", 3],
    ],
  );
  const at = items.findIndex((item) => item.selected);
  assert.equal(items[at]?.key, "node-42");
  assert.deepEqual([items[at]?.posInSet, items[at]?.setSize, items[at]?.expanded], [151, 300, true]);
  assert.equal(items[at - 1]?.posInSet, 150);
  assert.equal(items[at + 1]?.level, 5, "children follow the selection");
  assert.equal(items.at(-1)?.level, 4, "then its siblings");
  assert.equal(new Set(items.map((item) => item.key)).size, items.length, "keys are distinct");
  const deep = path(3000);
  assert.ok(mirrorItems({ ...spoken, path: deep, siblings, children: many(5000, 500, 4) }).length <= 200);
});

test("a box of several calls is spoken below the call that they hang on; without a selection nothing is selected", () => {
  const data = { ...spoken, path: path(1), siblings: null, children: rows([7, 0]) };
  const items = mirrorItems({ ...data, several: "14 narrow calls, total 0.2 percent" });
  assert.deepEqual(
    items.filter((item) => item.selected).map((item) => [item.label, item.level]),
    [["14 narrow calls, total 0.2 percent", 4]],
  );
  assert.ok(mirrorItems({ ...data, selected: false }).every((item) => !item.selected));
});

test("of many questions the first is asked at once and stopped by a newer one; only the newest answer arrives", async () => {
  const asked: number[] = [];
  const stopped: number[] = [];
  const answers: (() => void)[] = [];
  const delivered: number[] = [];
  const questions = latest<number, number>({
    ask: (question, { signal }) => {
      asked.push(question);
      signal.addEventListener("abort", () => stopped.push(question));
      return new Promise((resolve) => answers.push(() => resolve(question)));
    },
    deliver: (answer) => delivered.push(answer),
  });
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  for (const question of [1, 2, 3, 4]) {
    questions.ask(question);
  }
  assert.deepEqual([asked, stopped], [[1], [1]]);
  answers.shift()?.();
  await settle();
  assert.deepEqual([asked, delivered], [[1, 4], []], "the answer to 1 is stale");
  answers.shift()?.();
  await settle();
  assert.deepEqual(delivered, [4]);
  questions.ask(5);
  questions.drop();
  assert.deepEqual(stopped, [1, 5], "what is dropped is stopped, too");
  answers.shift()?.();
  await settle();
  assert.deepEqual(delivered, [4], "dropped");
});

test("failures are told, cancellations are not", async () => {
  const failures: unknown[] = [];
  const questions = latest<Error, never>({
    ask: (error) => Promise.reject(error),
    deliver: () => assert.fail("nothing to deliver"),
    fail: (error) => failures.push(error),
  });
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  questions.ask(new Cancelled());
  await settle();
  const broken = new Error("broken");
  questions.ask(broken);
  await settle();
  assert.deepEqual(failures, [broken]);
});
