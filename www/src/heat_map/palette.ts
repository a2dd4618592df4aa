// Colours of the heat map for the present theme: six tokens, and what lies between them.

import { readTokens } from "../style/tokens.ts";
import { systemColour } from "../views/flame/palette.ts";

/** More cannot be told apart. */
const SHADES = 64;

export interface HeatPalette {
  /** From nothing to all CPUs. */
  heat: readonly string[];
  ground: string;
  accent: string;
  totals: string;
  ink: string;
  quiet: string;
  line: string;
}

export function readHeatPalette(): HeatPalette {
  if (matchMedia("(forced-colors: active)").matches) {
    const [ground, ink] = [systemColour("Canvas"), systemColour("CanvasText")];
    return {
      heat: between([ground, ink]),
      ground,
      accent: systemColour("Highlight"),
      totals: systemColour("GrayText"),
      ink,
      quiet: ink,
      line: ink,
    };
  }
  const t = readTokens(["h0", "h1", "h2", "h3", "h4", "h5", "panel", "accent", "line", "line-2", "ink", "ink-3"]);
  return {
    heat: between([t.h0, t.h1, t.h2, t.h3, t.h4, t.h5]),
    ground: t.panel,
    accent: t.accent,
    totals: t["line-2"],
    ink: t.ink,
    quiet: t["ink-3"],
    line: t.line,
  };
}

/** Place in `heat` of a share of 0 to 1 of all CPUs. */
export function shadeOf({ heat }: HeatPalette, share: number): number {
  // What is not nothing never looks like nothing.
  return Math.min(heat.length - 1, Math.max(share > 0 ? 1 : 0, Math.round(share * (heat.length - 1))));
}

/** `SHADES` colours along the way from the first of `stops` to the last; each is an `rgb(…)` text. */
export function between(stops: readonly string[]): string[] {
  const channels = stops.map((stop) => (stop.match(/[\d.]+/g) ?? []).slice(0, 3).map(Number));
  return Array.from({ length: SHADES }, (_, shade) => {
    const place = (shade / (SHADES - 1)) * (stops.length - 1);
    const from = Math.min(stops.length - 2, Math.floor(place));
    const mixed = (channels[from] ?? []).map((channel, at) => {
      const to = channels[from + 1]?.[at] ?? channel;
      return Math.round(channel + (to - channel) * (place - from));
    });
    return `rgb(${mixed.join(", ")})`;
  });
}
