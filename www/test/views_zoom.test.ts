import assert from "node:assert/strict";
import { test } from "node:test";
import { foldPath } from "../src/views/flame/fold_path.ts";
import { flameAction } from "../src/views/flame/keys.ts";
import { placeCard } from "../src/views/placed_card.ts";
import type { View } from "../src/views/flame/zoom.ts";
import { between, clampView, easeOut, layoutScreens, pan, reveal, shrunkTo, WHOLE, zoomAbout } from "../src/views/flame/zoom.ts";

const SMALLEST = 1 / 64;

const near = (actual: number, expected: number): void =>
  assert.ok(Math.abs(actual - expected) < 1e-9, `${actual} is not ${expected}`);

/** Screen position (0 to 1) of a fraction of the root. */
const toScreen = (view: View, fraction: number): number => (fraction - view.left) / view.span;

test("what is under the pointer stays there while zooming in and out", () => {
  let view = { left: 0.2, span: 0.5 };
  const under = view.left + 0.3 * view.span;
  for (const factor of [1.5, 2, 1.1, 0.7, 0.9]) {
    view = zoomAbout(view, 0.3, factor, SMALLEST);
    near(toScreen(view, under), 0.3);
  }
});

test("a window never leaves the root, nor its bounds", () => {
  assert.deepEqual(zoomAbout({ left: 0.9, span: 0.1 }, 1, 0.01, SMALLEST), WHOLE);
  assert.equal(zoomAbout(WHOLE, 0.5, 1e9, SMALLEST).span, SMALLEST);
  assert.deepEqual(pan({ left: 0.5, span: 0.5 }, 3), { left: 0.5, span: 0.5 });
  assert.deepEqual(pan({ left: 0.5, span: 0.25 }, -1), { left: 0.25, span: 0.25 });
  assert.deepEqual(clampView({ left: -3, span: 7 }, SMALLEST), WHOLE);
});

test("the worker is asked for a power of two of screens, with a bound", () => {
  assert.equal(layoutScreens(WHOLE), 1);
  assert.equal(layoutScreens({ left: 0, span: 0.5 }), 2);
  assert.equal(layoutScreens({ left: 0, span: 0.49 }), 4);
  assert.equal(layoutScreens({ left: 0, span: SMALLEST }), 16);
});

test("revealing moves no more than needed", () => {
  const view = { left: 0.4, span: 0.2 };
  assert.deepEqual(reveal(view, 0.45, 0.5), view);
  assert.deepEqual(reveal(view, 0, 1), view, "what fills the screen is in sight");
  near(reveal(view, 0.1, 0.2).left, 0.1);
  near(reveal(view, 0.7, 0.75).left, 0.55);
  near(reveal(view, 0.5, 0.9).left, 0.5);
});

test("an animation begins and ends where it should, and holds a fixed point", () => {
  const from = shrunkTo(0.2, 0.6);
  near(toScreen(from, 0), 0.2);
  near(toScreen(from, 1), 0.6);
  assert.deepEqual(between(from, WHOLE, 0), from);
  near(between(from, WHOLE, 1).left, 0);
  near(between(from, WHOLE, 1).span, 1);
  // The point that is at the same place in both stays there in between: 0.2 + 0.4·x = x.
  const fixed = 0.2 / 0.6;
  for (const t of [0.1, 0.5, 0.9]) {
    near(toScreen(between(from, WHOLE, t), fixed), fixed);
  }
  near(between({ left: 0, span: 0.5 }, { left: 0.5, span: 0.5 }, 0.5).left, 0.25);
  assert.equal(easeOut(0), 0);
  assert.equal(easeOut(1), 1);
});

test("a card flips at the window's edges and never leaves it", () => {
  const window = { width: 1000, height: 600 };
  const card = { width: 344, height: 120 };
  assert.deepEqual(placeCard({ x: 100, y: 100 }, card, window), { x: 112, y: 116 });
  assert.deepEqual(placeCard({ x: 900, y: 580 }, card, window), { x: 900 - 12 - 344, y: 580 - 16 - 120 });
  assert.deepEqual(placeCard({ x: 200, y: 50 }, card, { width: 400, height: 140 }), { x: 48, y: 12 });
});

test("a long path keeps its ends", () => {
  assert.deepEqual(
    foldPath([1, 2, 3], 4).map((each) => each.item),
    [1, 2, 3],
  );
  const folded = foldPath([1, 2, 3, 4, 5, 6, 7], 4);
  assert.deepEqual(folded, [
    { item: 1, hidden: 0 },
    { item: 5, hidden: 3 },
    { item: 6, hidden: 0 },
    { item: 7, hidden: 0 },
  ]);
});

test("keys of the flame graph", () => {
  const key = (name: string, held: Partial<Parameters<typeof flameAction>[0]> = {}) =>
    flameAction({ key: name, shiftKey: false, ctrlKey: false, metaKey: false, altKey: false, ...held });
  assert.deepEqual(key("ArrowDown"), { kind: "move", to: "child" });
  assert.deepEqual(key("ArrowRight", { shiftKey: true }), { kind: "pan", screens: 0.2 });
  assert.deepEqual(key("0"), { kind: "reset" });
  assert.equal(key("0", { ctrlKey: true }), null, "Ctrl 0 is the browser's");
  assert.equal(key("toString"), null);
  assert.equal(key("Tab"), null);
});
