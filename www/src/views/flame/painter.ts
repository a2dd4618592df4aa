// Paints the boxes and labels of a flame graph onto one canvas, in device pixels.
//
// Boxes come first, sorted by fill, then their marks; then labels, sorted by font. The two halves are apart because
// labels may come one frame later when boxes took long. No step allocates per box.
//
// A frame of 20,000 boxes and 3,000 labels takes 3 ms of script in Chromium 156 on a busy server core; with its pixels
// filled without a GPU it is about 17 ms for 1,440 × 900 at 2×. `www/test/harness/shoot.mjs` measures.

import { Flag } from "../../session/types.ts";
import type { Change } from "./colouring.ts";
import { BoxList } from "./box_list.ts";
import { LabelPainter } from "./label_painter.ts";
import type { Palette } from "./palette.ts";
import { FILL_FORCED, FILL_FORCED_MATCH, FILL_MATCH, FILLS } from "./palette.ts";
import type { Scene } from "./scene.ts";
import { hairline } from "./snap.ts";

/** Opacity of what does not match the search. */
const DIMMED = 0.38;
/** In hairlines: under this an outline would be all that is seen of a box. */
const NARROWEST_OUTLINED = 5;
const NARROWEST_INLINED = 12;
/** Under this no line of a texture would be seen as one, and to fill with a texture costs ten times as much. */
const NARROWEST_TEXTURED = 6;
/** In columns of presence. */
const PRESENT_ON_BOTH = 0;
const ONLY_AFTER = 1;

export class FlamePainter {
  readonly boxes = new BoxList();
  readonly #ctx: CanvasRenderingContext2D;
  readonly #labels: LabelPainter;

  constructor(ctx: CanvasRenderingContext2D) {
    this.#ctx = ctx;
    this.#labels = new LabelPainter(ctx);
  }

  paintBoxes(scene: Scene, palette: Palette, searching: boolean): void {
    const ctx = this.#ctx;
    ctx.globalAlpha = 1;
    ctx.clearRect(0, 0, ctx.canvas.width, ctx.canvas.height);
    this.boxes.collect(scene);
    this.#paintFills(palette, searching, NARROWEST_TEXTURED * hairline(scene.ratio));
    this.#paintMarks(scene, palette, searching);
  }

  /** Paints onto the boxes of the last `paintBoxes`, which was of the same scene. */
  paintLabels(scene: Scene, palette: Palette, searching: boolean): void {
    this.#labels.paint(scene, palette, this.boxes, searching ? DIMMED : 1);
  }

  #paintFills(palette: Palette, searching: boolean, narrow: number): void {
    const ctx = this.#ctx;
    const { boxes } = this;
    for (let fill = 0; fill < FILLS; fill++) {
      const from = boxes.fillStart[fill] as number;
      const to = boxes.fillStart[fill + 1] as number;
      if (from === to) {
        continue;
      }
      ctx.globalAlpha = searching && fill < FILL_FORCED_MATCH ? DIMMED : 1;
      const plain = palette.plain.get(fill);
      if (plain === undefined) {
        this.#fill(palette.fills[fill] ?? palette.panel, from, to, 0, Number.MAX_SAFE_INTEGER);
      } else {
        this.#fill(plain, from, to, 0, narrow);
        this.#fill(palette.fills[fill] ?? plain, from, to, narrow, Number.MAX_SAFE_INTEGER);
      }
    }
  }

  /** Fills boxes that are at least `least` and less than `most` wide. */
  #fill(fill: string | CanvasPattern, from: number, to: number, least: number, most: number): void {
    const ctx = this.#ctx;
    const { boxes } = this;
    ctx.fillStyle = fill;
    for (let at = from; at < to; at++) {
      const i = boxes.byFill[at] as number;
      const width = boxes.width[i] as number;
      if (width >= least && width < most) {
        ctx.fillRect(boxes.x[i] as number, boxes.y[i] as number, width, boxes.height[i] as number);
      }
    }
  }

  /** Outlines of matches and forced names, and the inner line of inlined frames. */
  #paintMarks(scene: Scene, palette: Palette, searching: boolean): void {
    const ctx = this.#ctx;
    const { boxes } = this;
    const line = hairline(scene.ratio);
    ctx.globalAlpha = 1;
    if (palette.outlined) {
      this.#outline(0, FILLS, palette.frameInk, line);
    }
    this.#outline(FILL_MATCH, FILLS, palette.ink, line);
    this.#outline(FILL_FORCED_MATCH, FILL_MATCH, palette.guru, line);
    ctx.globalAlpha = searching ? DIMMED : 1;
    this.#outline(FILL_FORCED, FILL_FORCED_MATCH, palette.guru, line);
    if (scene.colouring.by === "change") {
      this.#paintLacking(scene.colouring, palette, line);
    }
    ctx.fillStyle = palette.frameInk;
    for (let i = 0; i < boxes.count; i++) {
      const flags = scene.graph.flags[boxes.box[i] as number] as number;
      if (flags & Flag.Inlined && (boxes.width[i] as number) >= NARROWEST_INLINED * line) {
        ctx.fillRect((boxes.x[i] as number) + line, boxes.y[i] as number, line, boxes.height[i] as number);
      }
    }
    ctx.globalAlpha = 1;
  }

  /** What one of two profiles lacks: outlined where it is new, dashed where it is gone, and hatched where that takes room. */
  #paintLacking({ presence, absent }: Change, palette: Palette, line: number): void {
    const ctx = this.#ctx;
    const { boxes } = this;
    ctx.strokeStyle = palette.ink;
    ctx.lineWidth = line;
    ctx.setLineDash([3 * line, 2 * line]);
    for (let i = 0; i < boxes.count; i++) {
      const side = presence[boxes.box[i] as number] as number;
      const [x, y, width, height] = [boxes.x[i], boxes.y[i], boxes.width[i], boxes.height[i]] as [number, number, number, number];
      if (side === PRESENT_ON_BOTH || width < NARROWEST_OUTLINED * line) {
        continue;
      }
      if (absent === "hatched") {
        ctx.fillStyle = palette.absent;
        ctx.fillRect(x, y, width, height);
      }
      if (side === ONLY_AFTER) {
        ctx.fillStyle = palette.ink;
        frame(ctx, x, y, width, height, line);
      } else {
        ctx.strokeRect(x + line / 2, y + line / 2, width - line, height - line);
      }
    }
    ctx.setLineDash([]);
  }

  #outline(firstFill: number, pastFill: number, colour: string, line: number): void {
    const { boxes } = this;
    this.#ctx.fillStyle = colour;
    const to = boxes.fillStart[pastFill] as number;
    for (let at = boxes.fillStart[firstFill] as number; at < to; at++) {
      const i = boxes.byFill[at] as number;
      frame(this.#ctx, boxes.x[i] as number, boxes.y[i] as number, boxes.width[i] as number, boxes.height[i] as number, line);
    }
  }
}

/**
 * An outline of `line` device pixels inside a rectangle, in the present fill style; sharp at every ratio. Of a narrow
 * rectangle only the ends are drawn, so that its own fill can be seen.
 */
export function frame(ctx: CanvasRenderingContext2D, x: number, y: number, width: number, height: number, line: number): void {
  if (height <= 2 * line) {
    ctx.fillRect(x, y, width, height);
    return;
  }
  ctx.fillRect(x, y, width, line);
  ctx.fillRect(x, y + height - line, width, line);
  if (width < NARROWEST_OUTLINED * line) {
    return;
  }
  ctx.fillRect(x, y + line, line, height - 2 * line);
  ctx.fillRect(x + width - line, y + line, line, height - 2 * line);
}
