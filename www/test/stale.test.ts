// What asks by the number of a call node is refused when names have changed: whatever the question, and nothing else.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Args, Method, Query } from "../src/session/types.ts";
import { asksByCallNode } from "../src/worker/stale.ts";

const query = {} as Query;
const view = { basis: "share", width: "both" } as const;
const request = { before: { which: "first", query }, after: { which: "first", query } } as const;
const window = (root: number) => ({ root, widthPx: 100, minPx: 1, search: "" });

/** The types are those of the protocol: an argument that is renamed is renamed here. */
const asks = <M extends Method>(_: M, args: Args<M>): boolean => asksByCallNode(args);

const byCallNode = (id: number): boolean[] => [
  asks("callNode", { query, callNode: id, most: 5 }),
  asks("callNodeDetail", { query, callNode: id }),
  asks("callTreeChildren", { query, callNode: id }),
  asks("callTreePath", { query, callNode: id }),
  asks("callNodePath", { query, callNode: id }),
  asks("comparedDetail", { request, view, callNode: id }),
  asks("comparedChildren", { request, view, callNode: id, most: 5 }),
  asks("flameGraph", { query, window: window(id) }),
  asks("comparedGraph", { request, view, window: window(id) }),
  asks("rangePreview", { query, range: { start: 0, end: 1, side: "inside" }, window: window(id) }),
];

test("stale: the number of a call node is of one generation", () => {
  assert.deepEqual(new Set(byCallNode(3)), new Set([true]));
  assert.equal(asks("occurrence", { query, request: { subject: { kind: "call-node", id: 3 }, bins: 5 } }), true);
});

test("stale: the root and what is no call node stay what they are", () => {
  assert.deepEqual(new Set(byCallNode(0)), new Set([false]));
  assert.equal(asks("occurrence", { query, request: { subject: { kind: "function", id: 3 }, bins: 5 } }), false);
  assert.equal(asks("timeOrder", { query, window: { ...window(0), thread: 3, start: 1, end: 2 } }), false);
  assert.equal(asks("findCallNode", { query, place: { path: ["a"], pathFrames: [1] } }), false);
  assert.equal(asks("functionRef", { functionId: 3 }), false);
  assert.equal(asks("comparedSides", { request }), false);
  assert.equal(asks("info", {}), false);
});
