// Fills of flame graph boxes for the present theme. Read once per theme and pixel ratio, never per frame.
//
// With forced colours there are no hues: boxes are drawn in system colours, outlined, and the kinds differ by texture.

import { Kind } from "../../session/types.ts";
import { readTokens } from "../../style/tokens.ts";

/**
 * Fills are numbered: first those of kinds, `kind * SHADES + shade`; then those of the largest DSOs, of heat and of
 * change. A forced name has a number of its own, so has a match of the search, and between them what is both: it has
 * the colour of a match and the border of what is forced.
 */
export const SHADES = 3;
export const LARGEST_DSOS = 6;
const HEAT_STEPS = 6;
export const CHANGE_STEPS = 7;
export const FILL_DSO = 7 * SHADES;
/** Code without a name is hatched in every colour. */
export const FILL_DSO_UNNAMED = FILL_DSO + LARGEST_DSOS * SHADES;
export const FILL_HEAT = FILL_DSO_UNNAMED + LARGEST_DSOS;
export const FILL_HEAT_UNNAMED = FILL_HEAT + HEAT_STEPS;
/** By the kind that it would be with a name. */
export const FILL_UNNAMED = FILL_HEAT_UNNAMED + HEAT_STEPS;
export const FILL_CHANGE = FILL_UNNAMED + Kind.Unnamed;
export const FILL_FORCED = FILL_CHANGE + CHANGE_STEPS;
export const FILL_FORCED_MATCH = FILL_FORCED + 1;
export const FILL_MATCH = FILL_FORCED + 2;
export const FILLS = FILL_FORCED + 3;

/** Black over the fill, by `FlameGraph.shade`. */
const SHADE_BLACK = [0, 0.05, 0.1] as const;
/** Black of the lines over the colour of a DSO or of heat. */
const HATCH_BLACK = 0.2;
/** How much of its kind's colour ground and lines of code without a name have. */
const TINT = 0.4;
/** How much of a hatched ground its lines cover. */
const HATCH_SHARE = 1 / 6;

type Fill = string | CanvasPattern;

export interface Palette {
  fills: readonly Fill[];
  /** By fill: the colour of boxes too narrow for the texture that it is. */
  plain: ReadonlyMap<number, string>;
  /** Text on each fill. */
  inks: readonly string[];
  /** Text on a fill that is dimmed, which is nearly the panel's colour. */
  dimmedInk: string;
  /** Lines over the fill of what one of two profiles lacks. */
  absent: Fill;
  /** Outlines on boxes. */
  frameInk: string;
  ink: string;
  panel: string;
  accent: string;
  guru: string;
  /** Every box gets an outline, every label a ground of `panel`. */
  outlined: boolean;
}

/** The palette for a canvas of `ratio` device pixels per CSS pixel. */
export function readPalette(ratio: number): Palette {
  return matchMedia("(forced-colors: active)").matches ? forcedPalette(ratio) : themePalette(ratio);
}

function themePalette(ratio: number): Palette {
  const t = readTokens([
    "g-proc",
    "g-own",
    "g-sys",
    "g-ker",
    "g-jit",
    "g-unk",
    "hatch",
    "line-2",
    "search",
    "guru",
    "guru-soft",
    "frame-ink",
    "ink",
    "ink-3",
    "panel",
    "accent",
    "k1",
    "k2",
    "k3",
    "k4",
    "k5",
    "k6",
    "h0",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "d-less-3",
    "d-less-2",
    "d-less-1",
    "d-same",
    "d-more-1",
    "d-more-2",
    "d-more-3",
  ]);
  const byKind: [number, string][] = [
    [Kind.Own, t["g-own"]],
    [Kind.System, t["g-sys"]],
    [Kind.Kernel, t["g-ker"]],
    [Kind.Jit, t["g-jit"]],
  ];
  const fills = new Array<Fill>(FILLS).fill(t["g-proc"]);
  for (const [kind, colour] of byKind) {
    SHADE_BLACK.forEach((black, shade) => (fills[kind * SHADES + shade] = darken(colour, black)));
  }
  const unnamed = hatched(t["g-unk"], t.hatch, ratio);
  fills[FILL_UNNAMED] = unnamed;
  for (let shade = 0; shade < SHADES; shade++) {
    fills[Kind.Unnamed * SHADES + shade] = unnamed;
    fills[Kind.Folded * SHADES + shade] = t["line-2"];
  }
  const plain = new Map<number, string>();
  for (const [kind, colour] of byKind) {
    const [ground, lines] = [mixed(t["g-unk"], colour, TINT), mixed(t.hatch, colour, TINT)];
    fills[FILL_UNNAMED + kind] = hatched(ground, lines, ratio);
    plain.set(FILL_UNNAMED + kind, mixed(ground, lines, HATCH_SHARE));
  }
  for (let shade = 0; shade < SHADES; shade++) {
    plain.set(Kind.Unnamed * SHADES + shade, mixed(t["g-unk"], t.hatch, HATCH_SHARE));
  }
  [t.k1, t.k2, t.k3, t.k4, t.k5, t.k6].forEach((colour, place) => {
    SHADE_BLACK.forEach((black, shade) => (fills[FILL_DSO + place * SHADES + shade] = darken(colour, black)));
    plain.set(FILL_DSO_UNNAMED + place, darken(colour, HATCH_BLACK * HATCH_SHARE));
    fills[FILL_DSO_UNNAMED + place] = hatched(colour, darken(colour, HATCH_BLACK), ratio);
  });
  [t.h0, t.h1, t.h2, t.h3, t.h4, t.h5].forEach((colour, step) => {
    fills[FILL_HEAT + step] = step === 0 ? t["g-proc"] : colour;
    fills[FILL_HEAT_UNNAMED + step] = step === 0 ? unnamed : hatched(colour, darken(colour, HATCH_BLACK), ratio);
    plain.set(FILL_HEAT_UNNAMED + step, step === 0 ? t["g-unk"] : darken(colour, HATCH_BLACK * HATCH_SHARE));
  });
  [t["d-less-3"], t["d-less-2"], t["d-less-1"], t["d-same"], t["d-more-1"], t["d-more-2"], t["d-more-3"]].forEach(
    (colour, step) => (fills[FILL_CHANGE + step] = colour),
  );
  fills.fill(t.search, FILL_FORCED_MATCH, FILLS);
  fills[FILL_FORCED] = t["guru-soft"];
  // A texture's lines are only a little darker or lighter than its ground, so labels read on both.
  const grounds = fills.map((fill, at) => (typeof fill === "string" ? fill : (plain.get(at) ?? t["g-unk"])));
  return {
    fills,
    plain,
    inks: grounds.map((ground) => readable(ground, [t["frame-ink"], t.ink])),
    dimmedInk: t.ink,
    absent: hatched("transparent", t["ink-3"], ratio),
    frameInk: t["frame-ink"],
    ink: t.ink,
    panel: t.panel,
    accent: t.accent,
    guru: t.guru,
    outlined: false,
  };
}

function forcedPalette(ratio: number): Palette {
  const canvas = systemColour("Canvas");
  const text = systemColour("CanvasText");
  const fills = new Array<Fill>(FILLS).fill(canvas);
  const textures: [number, Fill][] = [
    [Kind.System, dotted(canvas, text, ratio)],
    [Kind.Kernel, striped(canvas, text, ratio, "upright")],
    [Kind.Jit, striped(canvas, text, ratio, "level")],
    [Kind.Unnamed, hatched(canvas, text, ratio)],
    [Kind.Folded, systemColour("GrayText")],
  ];
  for (const [kind, fill] of textures) {
    fills.fill(fill, kind * SHADES, (kind + 1) * SHADES);
  }
  fills.fill(systemColour("Mark"), FILL_FORCED_MATCH, FILLS);
  fills.fill(hatched(canvas, text, ratio), FILL_DSO_UNNAMED, FILL_HEAT);
  fills.fill(hatched(canvas, text, ratio), FILL_HEAT_UNNAMED, FILL_CHANGE);
  const highlight = systemColour("Highlight");
  const inks = new Array<string>(FILLS).fill(text);
  const absent = hatched("transparent", text, ratio);
  return {
    fills,
    plain: new Map(),
    inks,
    dimmedInk: text,
    absent,
    frameInk: text,
    ink: highlight,
    panel: canvas,
    accent: highlight,
    guru: text,
    outlined: true,
  };
}

export function systemColour(name: string): string {
  const probe = document.createElement("span");
  probe.style.color = name;
  probe.hidden = true;
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}

/** `colour` (any `rgb(…)` text) with a part of black laid over it. */
export function darken(colour: string, black: number): string {
  const channels = colour
    .match(/[\d.]+/g)
    ?.slice(0, 3)
    .map(Number);
  if (!channels || channels.length < 3 || black === 0) {
    return colour;
  }
  return `rgb(${channels.map((channel) => Math.round(channel * (1 - black))).join(", ")})`;
}

function channels(colour: string): number[] {
  return (
    colour
      .match(/[\d.]+/g)
      ?.slice(0, 3)
      .map(Number) ?? [0, 0, 0]
  );
}

/** Relative luminance, as WCAG 2 defines it. */
function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = channels(colour).map((channel) => {
    const part = channel / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** As WCAG 2 defines it. */
function contrast(ink: string, ground: string): number {
  const [light, dark] = [luminance(ink), luminance(ground)].sort((a, b) => b - a) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

const READABLE = 4.5;
const BLACK = "rgb(0, 0, 0)";
const WHITE = "rgb(255, 255, 255)";

/** The first of the inks that reads on a ground, else black or white, of which one always does. */
export function readable(ground: string, inks: readonly string[]): string {
  const usual = inks.find((ink) => contrast(ink, ground) >= READABLE);
  return usual ?? (contrast(BLACK, ground) > contrast(WHITE, ground) ? BLACK : WHITE);
}

/** A colour between two, `part` of the way to the second. */
function mixed(from: string, to: string, part: number): string {
  const end = channels(to);
  return `rgb(${channels(from)
    .map((channel, at) => Math.round(channel + ((end[at] ?? channel) - channel) * part))
    .join(", ")})`;
}

function tile(width: number, height: number, ground: string, paint: (ctx: CanvasRenderingContext2D) => void): Fill {
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  const ctx = canvas.getContext("2d");
  if (!ctx) {
    return ground;
  }
  ctx.fillStyle = ground;
  ctx.fillRect(0, 0, width, height);
  paint(ctx);
  return ctx.createPattern(canvas, "repeat") ?? ground;
}

/** Lines of 1 px every 6 px, at 45°. */
function hatched(ground: string, line: string, ratio: number): Fill {
  // Six pixels across the lines are 6·√2 along an edge.
  const side = Math.round(6 * Math.SQRT2 * ratio);
  return tile(side, side, ground, (ctx) => {
    ctx.strokeStyle = line;
    ctx.lineWidth = ratio;
    ctx.beginPath();
    for (const shift of [-side, 0, side]) {
      ctx.moveTo(shift - ratio, side + ratio);
      ctx.lineTo(shift + side + ratio, -ratio);
    }
    ctx.stroke();
  });
}

function striped(ground: string, line: string, ratio: number, way: "upright" | "level"): Fill {
  const side = Math.round(4 * ratio);
  const thickness = Math.max(1, Math.round(ratio));
  return tile(side, side, ground, (ctx) => {
    ctx.fillStyle = line;
    ctx.fillRect(0, 0, way === "upright" ? thickness : side, way === "upright" ? side : thickness);
  });
}

function dotted(ground: string, line: string, ratio: number): Fill {
  const side = Math.round(5 * ratio);
  const dot = Math.max(1, Math.round(ratio));
  return tile(side, side, ground, (ctx) => {
    ctx.fillStyle = line;
    ctx.fillRect(0, 0, dot, dot);
  });
}
