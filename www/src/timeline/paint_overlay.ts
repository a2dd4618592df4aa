// The second canvas: the range, what it leaves out, the cursor and the pointer. Moving the pointer repaints this one,
// never the areas.

import { hairline, snap } from "../views/flame/snap.ts";
import type { TimePalette } from "./palette.ts";
import type { Scene } from "./scene.ts";
import type { TimeSpan } from "./time_window.ts";
import { xOf } from "./time_window.ts";
import { lengthWords } from "./words.ts";

export interface OverlayMarks {
  range: TimeSpan | null;
  /** The range is all but this. */
  inverted: boolean;
  /** Times. */
  cursor: number | null;
  pointer: number | null;
}

const HANDLE_WIDTH = 8;
const HANDLE_HEIGHT = 24;
const LABEL_HEIGHT = 16;
const LABEL_PADDING = 6;

export function paintOverlay(
  ctx: CanvasRenderingContext2D,
  scene: Scene,
  palette: TimePalette,
  { range, inverted, cursor, pointer }: OverlayMarks,
): void {
  ctx.clearRect(0, 0, ctx.canvas.width, ctx.canvas.height);
  if (pointer !== null) {
    paintLine(ctx, scene, pointer, palette.quiet);
  }
  if (range) {
    paintRange(ctx, scene, palette, range, inverted);
  }
  // At an edge of the range it would only hide that.
  if (cursor !== null && cursor !== range?.start && cursor !== range?.end) {
    paintLine(ctx, scene, cursor, palette.ink);
  }
}

function paintLine(ctx: CanvasRenderingContext2D, scene: Scene, time: number, colour: string): void {
  const x = snap(xOf(time, scene.window, scene.width), scene.ratio);
  if (x >= 0 && x <= snap(scene.width, scene.ratio)) {
    ctx.fillStyle = colour;
    ctx.fillRect(x, 0, hairline(scene.ratio), ctx.canvas.height);
  }
}

function paintRange(ctx: CanvasRenderingContext2D, scene: Scene, palette: TimePalette, range: TimeSpan, inverted: boolean): void {
  const { ratio, sizes } = scene;
  const { width, height } = ctx.canvas;
  const line = 2 * hairline(ratio);
  const ruler = snap(sizes.ruler, ratio);
  const at = (time: number): number => snap(xOf(time, scene.window, scene.width), ratio);
  const left = Math.min(width, Math.max(-2 * line, at(range.start)));
  const right = Math.max(left + hairline(ratio), Math.min(width + 2 * line, at(range.end)));
  ctx.fillStyle = palette.wash;
  if (inverted) {
    ctx.fillRect(left, ruler, right - left, height - ruler);
  } else {
    ctx.fillRect(0, ruler, left, height - ruler);
    ctx.fillRect(right, ruler, width - right, height - ruler);
  }
  ctx.fillStyle = palette.accent;
  ctx.fillRect(left - line / 2, 0, line, height);
  ctx.fillRect(right - line / 2, 0, line, height);
  ctx.fillRect(left, 0, right - left, line);
  ctx.fillRect(left, height - line, right - left, line);
  if (ruler > 0) {
    const middle = (ruler + height) / 2;
    paintHandle(ctx, scene, palette, left, middle);
    paintHandle(ctx, scene, palette, right, middle);
    paintLength(ctx, scene, palette, { text: lengthWords(range), left, right });
  }
}

function paintHandle(ctx: CanvasRenderingContext2D, { ratio }: Scene, palette: TimePalette, edge: number, middle: number): void {
  const [width, height] = [HANDLE_WIDTH * ratio, HANDLE_HEIGHT * ratio];
  if (edge < 0 || edge > ctx.canvas.width) {
    return;
  }
  // Whole, also where the range begins or ends with what is in sight.
  const x = Math.min(ctx.canvas.width - width / 2, Math.max(width / 2, edge));
  ctx.fillStyle = palette.accent;
  ctx.beginPath();
  ctx.roundRect(Math.round(x - width / 2), Math.round(middle - height / 2), width, height, 2 * ratio);
  ctx.fill();
  ctx.fillStyle = palette.accentInk;
  for (const side of [-1, 1]) {
    const grip = Math.round(x + side * 1.5 * ratio - hairline(ratio) / 2);
    ctx.fillRect(grip, Math.round(middle - height / 4), hairline(ratio), height / 2);
  }
}

/** The length in the middle of what is in sight of the range, always whole. */
function paintLength(
  ctx: CanvasRenderingContext2D,
  { ratio, textScale }: Scene,
  palette: TimePalette,
  { text, left, right }: { text: string; left: number; right: number },
): void {
  const scale = textScale * ratio;
  ctx.font = `600 ${11 * scale}px ${palette.font}`;
  const width = ctx.measureText(text).width + 2 * LABEL_PADDING * scale;
  const canvas = ctx.canvas.width;
  const middle = (Math.max(0, left) + Math.min(canvas, right)) / 2;
  const x = Math.round(Math.min(canvas - width, Math.max(0, middle - width / 2)));
  ctx.fillStyle = palette.accent;
  ctx.beginPath();
  ctx.roundRect(x, Math.round(2 * ratio), width, LABEL_HEIGHT * scale, 3 * ratio);
  ctx.fill();
  ctx.fillStyle = palette.accentInk;
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  ctx.fillText(text, x + LABEL_PADDING * scale, 2 * ratio + (LABEL_HEIGHT * scale) / 2);
}
