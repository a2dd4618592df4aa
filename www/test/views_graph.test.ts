import assert from "node:assert/strict";
import { test } from "node:test";
import type { FlameGraph } from "../src/session/types.ts";
import { Flag, Kind, NONE } from "../src/session/types.ts";
import { BoxList } from "../src/views/flame/box_list.ts";
import { BY_KIND, fillOf, heatStep } from "../src/views/flame/colouring.ts";
import {
  boxAt,
  boxOfCallNode,
  boxWithEdges,
  childRange,
  hottestBox,
  hottestPath,
  heaviestOfFunction,
  NO_BOX,
  parentBox,
  rowOf,
  siblingBox,
  widestChild,
} from "../src/views/flame/hit_test.ts";
import { seenOfTree } from "../src/views/flame/host.ts";
import {
  darken,
  FILL_CHANGE,
  FILL_DSO,
  FILL_DSO_UNNAMED,
  FILL_FORCED,
  FILL_FORCED_MATCH,
  FILL_HEAT,
  FILL_MATCH,
  readable,
} from "../src/views/flame/palette.ts";
import type { Scene } from "../src/views/flame/scene.ts";
import { layoutX, rowAtTop, rowTop, screenX, visibleBoxes, visibleRows } from "../src/views/flame/scene.ts";
import { hairline, snap, widthWithGap } from "../src/views/flame/snap.ts";
import { layOut } from "./harness/fake_session.ts";
import { randomTree } from "./harness/random_tree.ts";

/**
 * Rows as text, a column a pixel: each letter is a call node, a dot is empty, `#` is a folded box. The call node's
 * number is the letter's place in the alphabet, its function the letter's lower case.
 */
function graph(...rows: string[]): FlameGraph {
  const boxes = rows.flatMap((row, depth) =>
    [...row.matchAll(/([^.])\1*/g)].map((run) => ({
      depth,
      letter: run[1] ?? "",
      start: run.index,
      end: run.index + run[0].length,
    })),
  );
  const number = (letter: string): number => letter.toUpperCase().charCodeAt(0) - 65;
  return {
    depths: rows.length,
    rowStart: Uint32Array.from([...rows, ""].map((_, row) => boxes.filter((box) => box.depth < row).length)),
    start: Float32Array.from(boxes, (box) => box.start),
    end: Float32Array.from(boxes, (box) => box.end),
    callNode: Uint32Array.from(boxes, (box, i) => (box.letter === "#" ? NONE : i)),
    folded: Uint32Array.from(boxes, (box) => (box.letter === "#" ? 3 : 0)),
    kind: Uint8Array.from(boxes, (box) => (box.letter === "#" ? Kind.Folded : Kind.Own)),
    shade: new Uint8Array(boxes.length),
    flags: new Uint8Array(boxes.length),
    functionId: Uint32Array.from(boxes, (box) => (box.letter === "#" ? NONE : number(box.letter))),
    dso: Uint32Array.from(boxes, (box) => (box.letter === "#" ? NONE : 0)),
    label: new Uint32Array(boxes.length).fill(NONE),
    labels: [],
    total: Float64Array.from(boxes, (box) => box.end - box.start),
    self: new Float64Array(boxes.length),
    path: [],
    rootTotal: 10,
    rootSamples: 10,
    allTotal: 10,
    allSamples: 100,
    generation: 0,
  };
}

const letters = graph("aaaaaaaaaa", "bbbbccccc.", "ddd.##eee.", ".......f..");

test("a box is found again by its edges, and no other in its place", () => {
  assert.equal(boxWithEdges(letters, 1, 4, 9), boxAt(letters, 1, 5));
  assert.equal(boxWithEdges(letters, 1, 4.4, 9.3), boxAt(letters, 1, 5));
  assert.equal(boxWithEdges(letters, 1, 4, 7), NO_BOX, "narrower");
  assert.equal(boxWithEdges(letters, 1, 2, 9), NO_BOX, "wider");
  assert.equal(boxWithEdges(letters, 2, 3, 4), NO_BOX, "a gap");
  assert.equal(boxWithEdges(letters, 4, 0, 1), NO_BOX, "no such row");
});

test("a point finds its box, folded ones too, gaps none", () => {
  assert.equal(boxAt(letters, 0, 0), 0);
  assert.equal(boxAt(letters, 1, 3.99), 1);
  assert.equal(boxAt(letters, 1, 4), 2);
  assert.equal(boxAt(letters, 1, 9.5), NO_BOX);
  assert.equal(boxAt(letters, 2, 3.5), NO_BOX);
  assert.equal(boxAt(letters, 2, 5), 4);
  assert.equal(boxAt(letters, 4, 5), NO_BOX);
  assert.equal(boxAt(letters, -1, 5), NO_BOX);
  assert.equal(rowAtTop(scene(), 35), 1);
  assert.equal(rowAtTop(scene(), 72), NO_BOX);
  assert.equal(rowAtTop(scene(), -1), NO_BOX);
});

test("every box of a large graph is found at its middle", () => {
  const nodes = randomTree(3, 3000, 50_000);
  const root = nodes[0];
  assert.ok(root);
  const large = layOut(root, { root: 0, widthPx: 1000, minPx: 0.5, search: "" }, root.total);
  assert.ok(large.callNode.length > 500);
  for (let box = 0; box < large.callNode.length; box++) {
    const middle = ((large.start[box] ?? 0) + (large.end[box] ?? 0)) / 2;
    assert.equal(boxAt(large, rowOf(large, box), middle), box);
  }
});

test("keys move among parents, children and siblings, onto folded boxes too", () => {
  const [a, b, c, d, folded, e, f] = [0, 1, 2, 3, 4, 5, 6];
  assert.equal(parentBox(letters, f), e);
  assert.equal(parentBox(letters, folded), c);
  assert.equal(parentBox(letters, a), NO_BOX);
  assert.deepEqual(childRange(letters, c), [folded, f]);
  assert.deepEqual(childRange(letters, d), [6, 6]);
  assert.equal(widestChild(letters, c), e);
  assert.equal(widestChild(letters, a), c);
  assert.equal(widestChild(letters, b), d);
  assert.equal(siblingBox(letters, b, 1), c);
  assert.equal(siblingBox(letters, e, -1), folded);
  assert.equal(siblingBox(letters, folded, -1), NO_BOX);
  assert.equal(widestChild(graph("aaaa", "##.."), a), 1, "nothing else is there");
  assert.equal(siblingBox(letters, d, 1), NO_BOX);
  assert.equal(hottestBox(letters, a), e, "its self outweighs what it calls");
  assert.deepEqual(hottestPath(graph("aaaa", "bbb.", "cc.."), a), [0, 1, 2]);
  assert.deepEqual(hottestPath(graph("aaaaaa", "bbb##.", "cc...."), a), [0, 1, 3], "narrow calls are no self");
  assert.deepEqual(hottestPath(graph("aaaaa", "bb..."), a), [a]);
});

test("a function's heaviest box and a call node's box", () => {
  const twice = graph("aaaaaa", "bbaaa.");
  assert.equal(heaviestOfFunction(twice, 0), 0);
  assert.equal(heaviestOfFunction(twice, 1), 1);
  assert.equal(heaviestOfFunction(twice, 7), NO_BOX);
  assert.equal(boxOfCallNode(twice, 2), 2);
  assert.equal(boxOfCallNode(twice, 9), NO_BOX);
});

function scene(over: Partial<Scene> = {}): Scene {
  return {
    graph: letters,
    layoutPx: 10,
    part: { left: 0, span: 1 },
    view: { left: 0, span: 1 },
    width: 100,
    height: 36,
    scrollTop: 0,
    rowHeight: 18,
    ratio: 1,
    textScale: 1,
    flow: "down",
    contentHeight: 80,
    colouring: BY_KIND,
    ...over,
  };
}

test("only what is on screen is listed", () => {
  assert.deepEqual(visibleRows(scene()), [0, 2]);
  assert.deepEqual(visibleRows(scene({ scrollTop: 20 })), [1, 4]);
  assert.deepEqual(visibleRows(scene({ scrollTop: 900 })), [50, 50]);
  // Four rows of 18 in 80, from the bottom: the last ends at 8, the root at 80.
  const up = scene({ flow: "up" });
  assert.deepEqual(visibleRows({ ...up, scrollTop: 0 }), [2, 4]);
  assert.deepEqual(visibleRows({ ...up, scrollTop: 44 }), [0, 2]);
  assert.deepEqual(
    [0, 3].map((row) => rowTop(up, row)),
    [62, 8],
  );
  assert.deepEqual(
    [7, 8, 61, 62, 79, 81].map((y) => rowAtTop(up, y)),
    [-1, 3, 1, 0, 0, -1],
  );
  assert.equal(Math.round(screenX(scene({ view: { left: 0.5, span: 0.25 } }), 6)), 40);
  // A layout of the second half, of which the first fifth is seen.
  const half = scene({ part: { left: 0.5, span: 0.5 }, view: { left: 0.5, span: 0.1 } });
  assert.equal(Math.round(screenX(half, 1)), 50);
  assert.equal(layoutX(half, 50).toFixed(6), "1.000000");
  assert.deepEqual(visibleBoxes(scene({ view: { left: 0.5, span: 0.25 } }), 2), [4, 6]);
});

test("snapped boxes of a row never overlap and leave their gap", () => {
  for (const ratio of [1, 1.25, 1.5, 2, 3]) {
    const list = new BoxList();
    const nodes = randomTree(5, 2000, 20_000);
    const root = nodes[0];
    assert.ok(root);
    const width = 777;
    const large = layOut(root, { root: 0, widthPx: width, minPx: 0.5, search: "" }, root.total);
    list.collect(scene({ graph: large, layoutPx: width, width, height: 900, ratio }));
    assert.ok(list.count > 300);
    for (let i = 1; i < list.count; i++) {
      if (list.y[i] === list.y[i - 1]) {
        assert.ok((list.x[i - 1] ?? 0) + (list.width[i - 1] ?? 0) <= (list.x[i] ?? 0), `ratio ${ratio}, box ${i}`);
      }
      assert.ok((list.x[i] ?? 0) + (list.width[i] ?? 0) <= snap(width, ratio));
    }
  }
});

test("boxes come sorted by fill, each once", () => {
  const mixed = graph("aaaaaaaaaa", "bcbcdebfgh");
  mixed.kind.set([Kind.Pseudo, Kind.Kernel, Kind.Own, Kind.Kernel, Kind.Jit, Kind.Own, Kind.Unnamed, Kind.System], 0);
  const list = new BoxList();
  list.collect(scene({ graph: mixed }));
  assert.equal(list.count, mixed.callNode.length);
  assert.deepEqual(
    [...list.byFill.slice(0, list.count)].sort((x, y) => x - y),
    [...Array(list.count).keys()],
  );
  for (let fill = 0; fill + 1 < list.fillStart.length; fill++) {
    for (let at = list.fillStart[fill] ?? 0; at < (list.fillStart[fill + 1] ?? 0); at++) {
      const box = list.box[list.byFill[at] ?? 0] ?? 0;
      assert.equal(fillOf(mixed, box, BY_KIND), fill);
    }
  }
});

test("a match outdoes a forced name, which never has its kind's fill", () => {
  for (const colouring of [BY_KIND, BY_DSO, BY_HEAT]) {
    assert.equal(fillOf(box({ flags: Flag.Forced }), 0, colouring), FILL_FORCED);
    assert.equal(fillOf(box({ flags: Flag.Match }), 0, colouring), FILL_MATCH);
    assert.equal(fillOf(box({ flags: Flag.Forced | Flag.Match }), 0, colouring), FILL_FORCED_MATCH);
  }
  assert.notEqual(fillOf(box(), 0, BY_KIND), fillOf(box({ kind: Kind.System }), 0, BY_KIND));
  assert.equal(fillOf(box({ kind: 200, shade: 9 }), 0, BY_KIND), fillOf(box({ kind: Kind.Pseudo, shade: 2 }), 0, BY_KIND));
});

const BY_DSO = {
  by: "dso",
  places: new Map([
    [30, 0],
    [31, 1],
  ]),
} as const;
const BY_HEAT = { by: "heat" } as const;

/** One box: own code in DSO 30. */
function box({ kind = Kind.Own as number, shade = 0, flags = 0, dso = 30, self = 0 } = {}): Parameters<typeof fillOf>[0] {
  return {
    kind: Uint8Array.of(kind),
    shade: Uint8Array.of(shade),
    flags: Uint8Array.of(flags),
    dso: Uint32Array.of(dso),
    self: Float64Array.of(self),
    allTotal: 1000,
  };
}

test("by DSO the largest have colours, code without a name stays hatched, what is no code keeps its own", () => {
  assert.equal(fillOf(box({ shade: 2 }), 0, BY_DSO), FILL_DSO + 2);
  assert.equal(fillOf(box({ dso: 31 }), 0, BY_DSO), FILL_DSO + 3);
  assert.equal(fillOf(box({ dso: 31, kind: Kind.Unnamed }), 0, BY_DSO), FILL_DSO_UNNAMED + 1);
  assert.equal(fillOf(box({ dso: 32 }), 0, BY_DSO), fillOf(box({ kind: Kind.Pseudo }), 0, BY_KIND));
  assert.equal(fillOf(box({ kind: Kind.Folded }), 0, BY_DSO), fillOf(box({ kind: Kind.Folded }), 0, BY_KIND));
});

test("heat has the steps of the design, as shares of all that is shown", () => {
  assert.deepEqual([0, 0.0001, 0.0059, 0.006, 0.02, 0.0499, 0.05, 0.09, 1].map(heatStep), [0, 1, 1, 2, 3, 3, 4, 5, 5]);
  assert.equal(fillOf(box({ self: 50 }), 0, BY_HEAT), FILL_HEAT + 4);
});

test("change has a fill for each step", () => {
  const fill = (step: number): number =>
    fillOf(box(), 0, { by: "change", presence: new Uint8Array(8), absent: "plain", words: () => "", steps: Int8Array.of(step) });
  assert.deepEqual([-3, 0, 3].map(fill), [FILL_CHANGE, FILL_CHANGE + 3, FILL_CHANGE + 6]);
});

test("the usual ink is kept where it reads, else black or white is taken", () => {
  assert.equal(readable("rgb(127, 29, 14)", ["rgb(20, 24, 31)"]), "rgb(255, 255, 255)");
  assert.equal(readable("rgb(251, 201, 129)", ["rgb(20, 24, 31)"]), "rgb(20, 24, 31)");
  assert.equal(readable("rgb(201, 87, 26)", ["rgb(20, 24, 31)"]), "rgb(0, 0, 0)");
});

test("edges snap to device pixels, the gap is cut off the right, nothing visible vanishes", () => {
  assert.equal(snap(10.2, 1), 10);
  assert.equal(snap(10.25, 2), 21);
  assert.equal(snap(-0.4, 1), 0);
  assert.equal(hairline(1), 1);
  assert.equal(hairline(1.5), 2);
  assert.equal(hairline(0.5), 1);
  assert.equal(widthWithGap(3, 10, 1), 6);
  assert.equal(widthWithGap(3, 4, 2), 1);
  assert.equal(widthWithGap(3, 3, 1), 0);
});

test("the minimap marks what is seen, or the nearest frame above it", () => {
  const laid = (root: number, ...above: number[]) => ({
    graph: { ...letters, path: above.map((callNode) => ({ callNode, name: "", flags: 0 })) },
    root,
    layoutPx: 10,
    part: { left: 0, span: 1 },
    searching: false,
    key: "",
  });
  assert.deepEqual(seenOfTree(letters, laid(0), { left: 0.5, span: 0.25 }), [0.5, 0.75]);
  assert.deepEqual(seenOfTree(letters, laid(2, 0), { left: 0, span: 1 }), [0.4, 0.9]);
  assert.deepEqual(seenOfTree(letters, laid(2, 0), { left: 0.5, span: 0.5 }), [0.65, 0.9]);
  assert.deepEqual(seenOfTree(letters, laid(77, 0, 1), { left: 0, span: 1 }), [0, 0.4], "77 has no box, 1 is above it");
});

test("shades are black over the fill", () => {
  assert.equal(darken("rgb(248, 183, 96)", 0.1), "rgb(223, 165, 86)");
  assert.equal(darken("rgb(248, 183, 96)", 0), "rgb(248, 183, 96)");
  assert.equal(darken("nonsense", 0.1), "nonsense");
});
