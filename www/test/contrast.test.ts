// The palette's promises, recomputed from the style sheet that ships.

import assert from "node:assert/strict";
import { test } from "node:test";
import sheet from "../src/style/tokens.css" with { type: "text" };
import { contrast, darken, distance, VISION } from "./colour.ts";

const THEMES = ["light", "dark"] as const;
type Theme = (typeof THEMES)[number];

const tokens = new Map<string, Record<Theme, string>>();
for (const [, name, light, dark] of sheet.matchAll(/--([\w-]+): light-dark\((#\w{6}), (#\w{6})\);/g)) {
  if (name !== undefined && light !== undefined && dark !== undefined) {
    tokens.set(name, { light, dark });
  }
}

function colour(name: string, theme: Theme): string {
  const found = tokens.get(name);
  assert.ok(found, `tokens.css has no colour --${name}`);
  return found[theme];
}

/** Checks every pair and says all that fail at once. */
function check(least: Record<Theme, number>, pairs: readonly (readonly [string, string])[]): void {
  for (const theme of THEMES) {
    const low = pairs
      .map(([ink, ground]) => ({ ink, ground, ratio: contrast(colour(ink, theme), colour(ground, theme)) }))
      .filter(({ ratio }) => ratio < least[theme]);
    assert.deepEqual(low, [], theme);
  }
}

const cross = (inks: readonly string[], grounds: readonly string[]): [string, string][] =>
  inks.flatMap((ink) => grounds.map((ground): [string, string] => [ink, ground]));

const GROUNDS = ["bg", "panel", "panel-2", "raised", "sel"];
const KINDS = ["g-own", "g-sys", "g-ker", "g-jit", "g-unk", "g-proc"];

test("text reads on every ground", () => {
  check({ light: 4.9, dark: 4.9 }, cross(["ink", "ink-2", "ink-3", "accent", "ok", "warn", "bad", "guru"], GROUNDS));
});

test("a status reads on its own soft ground", () => {
  check({ light: 5.5, dark: 7 }, [["ok", "ok-soft"], ["warn", "warn-soft"], ["bad", "bad-soft"], ["guru", "guru-soft"]]);
  check({ light: 6.2, dark: 6.6 }, [["accent", "accent-soft"]]);
  check({ light: 4.5, dark: 4.5 }, [["accent-ink", "accent"]]);
});

test("borders of fields stand out", () => {
  check({ light: 3.1, dark: 3.1 }, cross(["ctl-line"], ["bg", "panel", "panel-2"]));
});

test("labels read on every frame, shaded or not", () => {
  for (const theme of THEMES) {
    for (const kind of [...KINDS, "search", "k1", "k2", "k3", "k4", "k5", "k6"]) {
      for (const black of [0, 0.05, 0.1]) {
        const ratio = contrast(colour("frame-ink", theme), darken(colour(kind, theme), black));
        assert.ok(ratio >= 4.5, `${theme} ${kind} with ${black} black: ${ratio.toFixed(2)}`);
      }
    }
  }
});

test("kinds and DSO colours are told apart by every eye", () => {
  const least = { normal: 9, protan: 7, deutan: 7, tritan: 6.5 };
  for (const theme of THEMES) {
    for (const set of [["g-own", "g-sys", "g-ker", "g-jit", "g-unk"], ["k1", "k2", "k3", "k4", "k5", "k6"]]) {
      for (const vision of Object.keys(VISION) as (keyof typeof VISION)[]) {
        for (const [index, a] of set.entries()) {
          for (const b of set.slice(index + 1)) {
            const apart = distance(colour(a, theme), colour(b, theme), vision);
            assert.ok(apart >= least[vision], `${theme}, ${vision}: ${a} and ${b} are ${apart.toFixed(1)} apart`);
          }
        }
      }
    }
  }
});
