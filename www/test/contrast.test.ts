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

test("a20 words of source read on rows that are pointed at, and matches on their mark", () => {
  promise({ light: 4.5, dark: 4.5 }, cross(["ink", "ink-3", "accent", "ok", "warn"], ["hover"]));
  promise({ light: 4.5, dark: 4.5 }, [["frame-ink", "search"]]);
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

/** The ink of labels on a ground, as flame graphs choose it. */
function label(ground: string, theme: Theme): string {
  const rgb = (hex: string): string => `rgb(${[1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)).join(", ")})`;
  const ink = readable(rgb(ground), [rgb(colour("frame-ink", theme)), rgb(colour("ink", theme))]);
  return `#${(ink.match(/\d+/g) ?? []).map((part) => Number(part).toString(16).padStart(2, "0")).join("")}`;
}

/** What is promised of labels on the worst of some grounds, plain and with 5 and 10 % black where they are shaded. */
const LABELS: readonly [string, readonly string[], Record<Theme, number>, Record<Theme, number>?][] = [
  ["kinds", CODE, { light: 7, dark: 5.5 }, { light: 5.75, dark: 4.55 }],
  ["what has no kind", ["g-unk", "g-proc", "line-2"], { light: 7, dark: 8.4 }],
  ["hatching", ["hatch"], { light: 9.45, dark: 5.7 }],
  ["DSO colours", DSOS, { light: 6.05, dark: 5.65 }, { light: 4.5, dark: 4.65 }],
  ["changes", [...LESS, "d-same", ...MORE], { light: 6.73, dark: 4.85 }],
  ["matches and forced names", ["search", "guru-soft"], { light: 8.56, dark: 7 }],
  // Black or white where the usual inks do not read.
  ["heat", ["h1", "h2", "h3", "h4", "h5"], { light: 4.5, dark: 4.6 }],
];

test("a20 labels read on every fill of a frame, shaded or not", () => {
  for (const [what, grounds, plain, shaded] of LABELS) {
    for (const theme of THEMES) {
      for (const name of grounds) {
        const ground = colour(name, theme);
        const ratio = contrast(label(ground, theme), ground);
        assert.ok(ratio >= plain[theme] - 0.005, `${theme}, ${what}: label on ${name} has ${ratio.toFixed(2)}`);
        for (const black of shaded ? [0.05, 0.1] : []) {
          const darker = darken(ground, black);
          const ratio = contrast(label(darker, theme), darker);
          assert.ok(
            ratio >= (shaded?.[theme] ?? 0) - 0.005,
            `${theme}, ${what}: ${name} with ${black} black: ${ratio.toFixed(2)}`,
          );
        }
      }
    }
  }
});

test("a20 dark frames are as bright as on light ground, with dark labels", () => {
  for (const name of [...CODE, ...DSOS, "search"]) {
    assert.equal(label(colour(name, "dark"), "dark"), colour("frame-ink", "dark"), name);
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
  ["kinds", [...CODE, "g-unk"], "dark", [13.5, 11.4, 9.1, 8.8]],
  ["DSO colours", DSOS, "light", [9.1, 8.9, 8.6, 6.9]],
  ["DSO colours", DSOS, "dark", [11.5, 11.5, 10.9, 8.4]],
  ["the ends of change", ["d-less-3", "d-more-3"], "light", [24, 19, 21, 26]],
  ["the ends of change", ["d-less-3", "d-more-3"], "dark", [24, 20, 22, 27]],
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
