// Fills of flame graph boxes for the present theme. Read once per theme and pixel ratio, never per frame.
//
// With forced colours there are no hues: boxes are drawn in system colours, outlined, and the kinds differ by texture.

import { Kind } from "../../session/types.ts";
import { readTokens } from "../../style/tokens.ts";

/**
 * Fills are numbered `kind * SHADES + shade`. A forced name has a number of its own, so has a match of the search, and
 * between them what is both: it has the colour of a match and the border of what is forced.
 */
export const SHADES = 3;
export const FILL_FORCED = 7 * SHADES;
export const FILL_FORCED_MATCH = FILL_FORCED + 1;
export const FILL_MATCH = FILL_FORCED + 2;
export const FILLS = FILL_FORCED + 3;

/** Black over the fill, by `FlameGraph.shade`. */
const SHADE_BLACK = [0, 0.05, 0.1] as const;

type Fill = string | CanvasPattern;

export interface Palette {
  fills: readonly Fill[];
  /** Text and outlines on boxes. */
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
    "g-proc", "g-own", "g-sys", "g-ker", "g-jit", "g-unk", "hatch", "line-2",
    "search", "guru", "guru-soft", "frame-ink", "ink", "panel", "accent",
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
  for (let shade = 0; shade < SHADES; shade++) {
    fills[Kind.Unnamed * SHADES + shade] = unnamed;
    fills[Kind.Folded * SHADES + shade] = t["line-2"];
  }
  fills.fill(t.search, FILL_FORCED_MATCH, FILLS);
  fills[FILL_FORCED] = t["guru-soft"];
  return {
    fills,
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
  const highlight = systemColour("Highlight");
  return { fills, frameInk: text, ink: highlight, panel: canvas, accent: highlight, guru: text, outlined: true };
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
  const channels = colour.match(/[\d.]+/g)?.slice(0, 3).map(Number);
  if (!channels || channels.length < 3 || black === 0) {
    return colour;
  }
  return `rgb(${channels.map((channel) => Math.round(channel * (1 - black))).join(", ")})`;
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
