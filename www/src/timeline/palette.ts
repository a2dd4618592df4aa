// Colours of the timeline's canvases for the present theme, read once per theme and pixel ratio.

import { Kind } from "../session/types.ts";
import { readTokens } from "../style/tokens.ts";
import { readPalette as readFramePalette, SHADES, systemColour } from "../views/flame/palette.ts";

type Fill = string | CanvasPattern;

export interface TimePalette {
  /** From the ground upwards: which kind of the answer's columns, and its fill. */
  stack: readonly { kind: number; fill: Fill }[];
  ground: string;
  rulerGround: string;
  line: string;
  ink: string;
  /** Words and marks of the ruler. */
  quiet: string;
  accent: string;
  accentInk: string;
  lost: string;
  /** Over what is outside of the range. */
  wash: string;
  /** Line along the top of an area, where fills alone do not tell it from the ground; null for none. */
  edge: string | null;
  /** Families, as CSS has them. */
  font: string;
}

/** What the user wrote first, the system above it. */
const STACK = [Kind.Own, Kind.Jit, Kind.Unnamed, Kind.System, Kind.Kernel, Kind.Pseudo] as const;
/** Places of the kinds in the answer's columns. */
const COLUMN: Record<number, number> = {
  [Kind.Own]: 0,
  [Kind.System]: 1,
  [Kind.Kernel]: 2,
  [Kind.Jit]: 3,
  [Kind.Unnamed]: 4,
  [Kind.Pseudo]: 5,
};

export function readTimePalette(ratio: number): TimePalette {
  const frames = readFramePalette(ratio);
  const stack = STACK.map((kind) => ({ kind: COLUMN[kind] as number, fill: frames.fills[kind * SHADES] ?? frames.panel }));
  if (frames.outlined) {
    return { stack, ...forcedColours() };
  }
  const t = readTokens(["panel", "panel-2", "line", "line-2", "ink", "ink-3", "accent", "accent-ink", "bad", "wash"]);
  return {
    // On the panel, the ground of processes would be next to nothing.
    stack: stack.map((each) => (each.kind === COLUMN[Kind.Pseudo] ? { ...each, fill: t["line-2"] } : each)),
    ground: t.panel,
    rulerGround: t["panel-2"],
    line: t.line,
    ink: t.ink,
    quiet: t["ink-3"],
    accent: t.accent,
    accentInk: t["accent-ink"],
    lost: t.bad,
    wash: t.wash,
    edge: null,
    font: fontFamily(),
  };
}

function forcedColours(): Omit<TimePalette, "stack"> {
  const [canvas, text] = [systemColour("Canvas"), systemColour("CanvasText")];
  return {
    ground: canvas,
    rulerGround: canvas,
    line: systemColour("GrayText"),
    ink: text,
    quiet: text,
    accent: systemColour("Highlight"),
    accentInk: systemColour("HighlightText"),
    lost: text,
    wash: "transparent",
    edge: text,
    font: fontFamily(),
  };
}

const fontFamily = (): string => getComputedStyle(document.body).fontFamily;
