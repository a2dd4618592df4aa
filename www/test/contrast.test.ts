// The palette's promises, recomputed from the style sheet that ships.

import assert from "node:assert/strict";
import { test } from "node:test";
import sheet from "../src/style/tokens.css" with { type: "text" };
import { readable } from "../src/views/flame/palette.ts";
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

/** The lowest contrast among pairs, in each theme, with the pair that has it. */
function lowest(pairs: readonly (readonly [string, string])[], theme: Theme): { ratio: number; pair: string } {
  const all = pairs.map(([ink, ground]) => ({
    ratio: contrast(colour(ink, theme), colour(ground, theme)),
    pair: `${ink} on ${ground}`,
  }));
  return all.reduce((low, each) => (each.ratio < low.ratio ? each : low));
}

/** What is promised of the lowest contrast has two decimals. */
function promise(least: Record<Theme, number>, pairs: readonly (readonly [string, string])[]): void {
  for (const theme of THEMES) {
    const { ratio, pair } = lowest(pairs, theme);
    assert.ok(ratio >= least[theme] - 0.005, `${theme}: ${pair} has ${ratio.toFixed(2)}, ${least[theme]} is promised`);
  }
}

const cross = (inks: readonly string[], grounds: readonly string[]): [string, string][] =>
  inks.flatMap((ink) => grounds.map((ground): [string, string] => [ink, ground]));

const GROUNDS = ["bg", "panel", "panel-2", "raised", "sel"];
const DSOS = ["k1", "k2", "k3", "k4", "k5", "k6"];
const CODE = ["g-own", "g-sys", "g-ker", "g-jit"];
const LESS = ["d-less-3", "d-less-2", "d-less-1"];
const MORE = ["d-more-1", "d-more-2", "d-more-3"];

test("a20 text reads on every ground", () => {
  promise({ light: 4.98, dark: 4.93 }, cross(["ink", "ink-2", "ink-3", "accent", "ok", "warn", "bad", "guru"], GROUNDS));
});

test("a20 a status reads on its own soft ground", () => {
  promise({ light: 5.56, dark: 7.09 }, [
    ["ok", "ok-soft"],
    ["warn", "warn-soft"],
    ["bad", "bad-soft"],
    ["guru", "guru-soft"],
  ]);
  promise({ light: 6.22, dark: 6.69 }, [["accent", "accent-soft"]]);
  promise({ light: 4.5, dark: 4.5 }, [["accent-ink", "accent"]]);
});

test("a20 borders of fields stand out", () => {
  promise({ light: 3.17, dark: 3.94 }, cross(["ctl-line"], ["bg", "panel", "panel-2"]));
});

test("a20 labels read on kinds, DSO colours, changes, matches and hatching", () => {
  promise({ light: 7, dark: 4.58 }, cross(["frame-ink"], [...CODE, "g-unk", "g-proc"]));
  for (const [kind, ratio] of [
    ["g-own", 4.58],
    ["g-jit", 4.7],
    ["g-ker", 6.54],
    ["g-sys", 7.85],
  ] as const) {
    promise({ light: 7, dark: ratio }, [["frame-ink", kind]]);
  }
  // 9.5 and 6.3, with one decimal.
  promise({ light: 9.45, dark: 6.25 }, [["frame-ink", "hatch"]]);
  promise({ light: 6.05, dark: 4.65 }, cross(["frame-ink"], DSOS));
  promise({ light: 6.73, dark: 4.92 }, cross(["frame-ink"], [...LESS, "d-same", ...MORE]));
  promise({ light: 8.56, dark: 5.24 }, [["frame-ink", "search"]]);
});

test("a20 labels read on heat, with black or white where the usual ink does not", () => {
  const rgb = (hex: string): string => `rgb(${[1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)).join(", ")})`;
  const hex = (text: string): string =>
    `#${(text.match(/\d+/g) ?? []).map((part) => Number(part).toString(16).padStart(2, "0")).join("")}`;
  for (const theme of THEMES) {
    for (const heat of ["h1", "h2", "h3", "h4", "h5"]) {
      const ground = colour(heat, theme);
      const ink = hex(readable(rgb(ground), rgb(colour("frame-ink", theme))));
      assert.ok(contrast(ink, ground) >= 4.5, `${theme}: ${ink} on ${heat} has ${contrast(ink, ground).toFixed(2)}`);
    }
  }
});

test("a20 labels read on frames that are shaded: 5 and 10 % black, which only ever darkens", () => {
  for (const theme of THEMES) {
    const least = theme === "light" ? 5.75 : 4.58;
    for (const kind of [...CODE, "g-proc", "g-unk"]) {
      for (const black of [0.05, 0.1]) {
        const ratio = contrast(colour("frame-ink", theme), darken(colour(kind, theme), black));
        assert.ok(ratio >= least - 0.005, `${theme} ${kind} with ${black} black: ${ratio.toFixed(2)}`);
      }
    }
    for (const other of ["search", ...DSOS]) {
      const ratio = contrast(colour("frame-ink", theme), darken(colour(other, theme), 0.1));
      assert.ok(ratio >= 4.5, `${theme} ${other} with 0.1 black: ${ratio.toFixed(2)}`);
    }
  }
});

type Vision = keyof typeof VISION;

/** The two colours of a set that are nearest to each other, as an eye sees them. */
function nearest(set: readonly string[], theme: Theme, vision: Vision): { apart: number; pair: string } {
  const pairs = set.flatMap((a, index) =>
    set.slice(index + 1).map((b) => ({
      apart: distance(colour(a, theme), colour(b, theme), vision),
      pair: `${a} and ${b}`,
    })),
  );
  return pairs.reduce((low, each) => (each.apart < low.apart ? each : low));
}

/** Promised distances, with one decimal, for normal, protan, deutan and tritan eyes. */
const APART: readonly [string, readonly string[], Theme, readonly [number, number, number, number]][] = [
  ["kinds", [...CODE, "g-unk"], "light", [13, 7.9, 7.8, 8.9]],
  ["kinds", [...CODE, "g-unk"], "dark", [9.1, 7.8, 7.8, 7.3]],
  ["DSO colours", DSOS, "light", [9.1, 8.9, 8.6, 6.9]],
  ["DSO colours", DSOS, "dark", [9.6, 9.5, 9.1, 6.9]],
  ["the ends of change", ["d-less-3", "d-more-3"], "light", [24, 19, 21, 26]],
  ["the ends of change", ["d-less-3", "d-more-3"], "dark", [22, 20, 21, 22]],
];

test("a20 kinds, DSO colours and changes are told apart by every eye", () => {
  const eyes = Object.keys(VISION) as Vision[];
  for (const [what, set, theme, least] of APART) {
    for (const [index, vision] of eyes.entries()) {
      const { apart, pair } = nearest(set, theme, vision);
      const promised = least[index] ?? 0;
      const rounding = Number.isInteger(promised) ? 0.5 : 0.05;
      assert.ok(
        apart >= promised - rounding,
        `${what}, ${theme}, ${vision}: ${pair} are ${apart.toFixed(2)} apart, ${promised} is promised`,
      );
    }
  }
});

test("a20 the first step of a change is told from none, and from the other direction's", () => {
  for (const theme of THEMES) {
    for (const vision of Object.keys(VISION) as Vision[]) {
      const { apart, pair } = nearest(["d-less-1", "d-same", "d-more-1"], theme, vision);
      assert.ok(apart >= 5.95, `${theme}, ${vision}: ${pair} are ${apart.toFixed(2)} apart`);
    }
  }
});
