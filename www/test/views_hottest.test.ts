import assert from "node:assert/strict";
import { test } from "node:test";
import type { Session } from "../src/session/client.ts";
import type { CallTreeRows, Query } from "../src/session/types.ts";
import { ALL } from "../src/session/types.ts";
import { query, selection } from "../src/state/app.ts";
import { boxOfCallNode, hottestBox } from "../src/views/flame/hit_test.ts";
import { treeWindow } from "../src/views/flame/host.ts";
import { TreeModel, treeOf } from "../src/views/rows/tree_model.ts";
import { FakeSession } from "./harness/fake_session.ts";

const SIZE = 6_000;
const SAMPLES = 60_000;

/** Where the call tree's hottest path ends. */
async function inTree(session: Session, asked: Query, from: number): Promise<number> {
  const model = new TreeModel<CallTreeRows>(selection);
  selection.value = from === ALL ? null : { callNode: from, functionId: null };
  await model.ask(treeOf(session, asked, 0));
  await model.openHottestPath(from, (rows) => rows.total);
  return selection.peek()?.callNode ?? ALL;
}

test("the hottest path ends at the same call in the tree and in the graph, and not in one of a few samples", async () => {
  let isCut = false;
  for (let seed = 1; seed <= 6; seed++) {
    const session = new FakeSession(SIZE, SAMPLES, "of-the-tree", seed);
    const asked = query.value;
    const window = { root: ALL, widthPx: 1400, minPx: 0.5, search: "" };
    const graph = await session.call("flameGraph", { query: asked, window });
    const first = await session.call("callTreeChildren", { query: asked, callNode: ALL });
    for (const from of [ALL, ...first.callNode]) {
      const end = await inTree(session, asked, from);
      const box = hottestBox(graph, boxOfCallNode(graph, from));
      assert.equal(graph.callNode[box], end, `seed ${seed}, from ${from}`);
      assert.ok((graph.total[box] as number) >= graph.rootTotal / 1000, `seed ${seed}, from ${from}`);
      const below = await session.call("callTreeChildren", { query: asked, callNode: end });
      isCut ||= below.callNode.length > 0;
    }
  }
  assert.ok(isCut, "a path went on to smaller calls");
});

test("it ends there too where the graph is zoomed in, and on a phone", async () => {
  let [isLight, isFolded] = [false, false];
  for (let seed = 1; seed <= 6; seed++) {
    const session = new FakeSession(SIZE, SAMPLES, "of-the-tree", seed);
    const asked = query.value;
    const whole = await session.call("flameGraph", { query: asked, window: treeWindow(ALL, 1400) });
    const end = await inTree(session, asked, ALL);
    for (const { callNode: root } of (await session.call("flameGraph", { query: asked, window: treeWindow(end, 1400) })).path) {
      const graph = await session.call("flameGraph", { query: asked, window: treeWindow(root, 1400) });
      assert.equal(graph.callNode[hottestBox(graph, 0)], end, `seed ${seed}, zoomed into ${root}`);
      const below = await session.call("callTreeChildren", { query: asked, callNode: end });
      isLight ||= [...below.total].some((total) => total < whole.rootTotal / 1000 && total >= graph.rootTotal / 1000);
    }
    const coarse = await session.call("flameGraph", { query: asked, window: { ...treeWindow(ALL, 390), minPx: 0.5 } });
    const phone = await session.call("flameGraph", { query: asked, window: treeWindow(ALL, 390) });
    for (const from of [ALL, ...(await session.call("callTreeChildren", { query: asked, callNode: ALL })).callNode]) {
      const box = hottestBox(phone, boxOfCallNode(phone, from));
      assert.equal(phone.callNode[box], await inTree(session, asked, from), `seed ${seed}, from ${from} at 390 px`);
      const inCoarse = coarse.callNode[hottestBox(coarse, boxOfCallNode(coarse, from))];
      isFolded ||= inCoarse !== phone.callNode[box];
    }
  }
  assert.ok(isLight, "no zoomed graph went on to calls that the tree passes over");
  assert.ok(isFolded, "nothing on the way would have been folded on a phone");
});

test("below a call of a few samples the hottest path is that of this call", async () => {
  const session = new FakeSession(SIZE, SAMPLES, "of-the-tree", 1);
  const asked = query.value;
  const [whole] = (await session.call("callTreePath", { query: asked, callNode: ALL })).total;
  let small: number | null = null;
  for (const open = [ALL]; small === null; ) {
    const rows = await session.call("callTreeChildren", { query: asked, callNode: open.shift() as number });
    const at = rows.total.findIndex((total, at) => total < (whole as number) / 2000 && (rows.childCount[at] as number) > 0);
    small = rows.callNode[at] ?? null;
    open.push(...rows.callNode);
  }
  assert.notEqual(await inTree(session, asked, small), small);
});
