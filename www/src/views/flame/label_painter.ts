// Labels of the boxes on screen: fitted, sticking to the visible part, with the share at the right where there is room.

import { ALL, Flag, Kind, NONE } from "../../session/types.ts";
import { countSamples, percent } from "../../state/format.ts";
import { foldedCalls } from "../words.ts";
import type { BoxList } from "./box_list.ts";
import { GlyphAdvances, LabelFitter } from "./labels.ts";
import type { Palette } from "./palette.ts";
import { FILL_FORCED_MATCH } from "./palette.ts";
import type { Scene } from "./scene.ts";
import { hairline } from "./snap.ts";

/** CSS pixels: the narrowest box with a label, the inset on both sides, the room that a share needs. */
const NARROWEST = 26;
const INSET = 4;
const SHARE_ROOM = 70;
const FORCED_MARK = "≠ ";

const FONTS = ["regular", "italic", "bold", "mono"] as const;
type FontName = (typeof FONTS)[number];

interface Font {
  css: string;
  advances: GlyphAdvances;
  fitter: LabelFitter;
}

export class LabelPainter {
  readonly #ctx: CanvasRenderingContext2D;
  #fonts: Record<FontName, Font> | null = null;
  #fontsFor = 0;
  /** The fill style of the run of labels that is being painted. */
  #inked = "";
  readonly #todo: Record<FontName, number[]> = { regular: [], italic: [], bold: [], mono: [] };

  constructor(ctx: CanvasRenderingContext2D) {
    this.#ctx = ctx;
  }

  /** Paints the labels of `boxes`; those of boxes that are no match with `dimmed` opacity. */
  paint(scene: Scene, palette: Palette, boxes: BoxList, dimmed: number): void {
    const fonts = this.#fontsAt(scene.ratio * scene.textScale);
    this.#sort(scene, boxes);
    const ctx = this.#ctx;
    ctx.textBaseline = "alphabetic";
    ctx.fontKerning = "none";
    for (const name of FONTS) {
      ctx.font = fonts[name].css;
      this.#inked = "";
      for (const i of this.#todo[name]) {
        const isDimmed = dimmed < 1 && (boxes.fill[i] as number) < FILL_FORCED_MATCH;
        ctx.globalAlpha = isDimmed ? dimmed : 1;
        const ink = isDimmed ? palette.dimmedInk : (palette.inks[boxes.fill[i] as number] as string);
        this.#paintOne(scene, palette, boxes, i, fonts[name], ink);
      }
    }
    ctx.globalAlpha = 1;
  }

  #sort(scene: Scene, boxes: BoxList): void {
    const narrowest = NARROWEST * scene.ratio;
    const gap = hairline(scene.ratio);
    for (const name of FONTS) {
      this.#todo[name].length = 0;
    }
    for (let i = 0; i < boxes.count; i++) {
      const box = boxes.box[i] as number;
      const hasName = scene.graph.label[box] !== NONE || scene.graph.folded[box] !== 0;
      if ((boxes.width[i] as number) + gap >= narrowest && hasName) {
        this.#todo[fontOf(scene.graph.kind[box] as number, scene.graph.flags[box] as number)].push(i);
      }
    }
  }

  #paintOne(scene: Scene, palette: Palette, boxes: BoxList, i: number, font: Font, ink: string): void {
    const { graph, ratio } = scene;
    const ctx = this.#ctx;
    const box = boxes.box[i] as number;
    const inset = INSET * ratio;
    // The label sticks to the visible part of a box whose left edge is out of sight.
    const left = Math.max(0, boxes.x[i] as number) + inset;
    const right = Math.min(ctx.canvas.width, (boxes.x[i] as number) + (boxes.width[i] as number)) - inset;
    const forced = ((graph.flags[box] as number) & Flag.Forced) !== 0;
    const mark = forced ? font.advances.width(FORCED_MARK) : 0;
    const name = this.#name(scene, box);
    const fitted = font.fitter.fit(name, right - left - mark);
    const baseline = Math.round((boxes.y[i] as number) + (boxes.height[i] as number) / 2 + 3.5 * ratio * scene.textScale);
    this.#ink(ink);
    const ground = (from: number, width: number): void => {
      if (palette.outlined) {
        ctx.fillStyle = palette.panel;
        ctx.fillRect(from - ratio, (boxes.y[i] as number) + ratio, width + 2 * ratio, (boxes.height[i] as number) - 2 * ratio);
        ctx.fillStyle = ink;
      }
    };
    if (fitted.text !== "") {
      ground(left, mark + fitted.width);
      ctx.fillText(fitted.text, left + mark, baseline);
    }
    if (forced && fitted.text !== "") {
      // Guru is made to be read on its own ground, not on that of a match.
      ctx.fillStyle = (graph.flags[box] as number) & Flag.Match ? palette.frameInk : palette.guru;
      ctx.fillText(FORCED_MARK, left, baseline);
      ctx.fillStyle = ink;
    }
    const room = right - left - mark - fitted.width;
    if (fitted.full && room >= SHARE_ROOM * ratio && graph.rootTotal > 0) {
      const change = scene.colouring.by === "change" ? scene.colouring : null;
      const share = change?.words(box) ?? percent((graph.total[box] as number) / graph.rootTotal);
      const width = font.advances.width(share);
      // How something changed may be longer than its share.
      if (width + 2 * inset > room) {
        return;
      }
      ground(right - width, width);
      ctx.fillText(share, right - width, baseline);
    }
  }

  /** Setting a style costs even where it is the present one. */
  #ink(ink: string): void {
    if (this.#inked !== ink) {
      this.#ctx.fillStyle = this.#inked = ink;
    }
  }

  #name(scene: Scene, box: number): string {
    const { graph } = scene;
    const name = graph.labels[graph.label[box] as number] ?? "";
    const folded = graph.folded[box] as number;
    if (folded > 0) {
      return foldedCalls(folded, name);
    }
    // Along time the root's samples are those of the window, which come and go.
    const counts = graph.callNode[box] === ALL && graph.rootSamples > 0;
    return counts ? `${name} · ${countSamples(graph.rootSamples)}` : name;
  }

  /** Fonts for a size, in device pixels per 1/16 of the root font size. */
  #fontsAt(scale: number): Record<FontName, Font> {
    if (this.#fonts && this.#fontsFor === scale) {
      return this.#fonts;
    }
    const style = getComputedStyle(document.documentElement);
    const sans = style.getPropertyValue("--sans") || "sans-serif";
    const mono = style.getPropertyValue("--mono") || "monospace";
    const size = 11 * scale;
    this.#fontsFor = scale;
    this.#fonts = {
      regular: this.#font(`${size}px ${sans}`),
      italic: this.#font(`italic ${size}px ${sans}`),
      bold: this.#font(`600 ${size}px ${sans}`),
      mono: this.#font(`${10.5 * scale}px ${mono}`),
    };
    return this.#fonts;
  }

  #font(css: string): Font {
    const ctx = this.#ctx;
    const advances = new GlyphAdvances((text) => {
      const before = ctx.font;
      ctx.font = css;
      const { width } = ctx.measureText(text);
      ctx.font = before;
      return width;
    });
    return { css, advances, fitter: new LabelFitter(advances) };
  }
}

function fontOf(kind: number, flags: number): FontName {
  if (kind === Kind.Unnamed) {
    return "mono";
  }
  if (kind === Kind.Folded) {
    return "regular";
  }
  if (kind === Kind.Pseudo || flags & Flag.Pseudo) {
    return "bold";
  }
  return flags & Flag.Inlined ? "italic" : "regular";
}
