// The first canvas: ruler, marks and areas, in device pixels. Painted when data, window, size or theme change, never
// for the pointer.
//
// An area is a bar for each bin and kind, edges on device pixels, no gaps; bars of one fill are painted together.

import { snap, hairline } from "../views/flame/snap.ts";
import { MARK } from "./marks.ts";
import type { Timeline } from "../session/types.ts";
import type { TimePalette } from "./palette.ts";
import type { PlacedTrack, Scene } from "./scene.ts";
import { placedTracks } from "./scene.ts";
import type { Tick } from "./ticks.ts";
import { ticksFor } from "./ticks.ts";
import { xOf } from "./time_window.ts";

/** Free above the highest bar. */
const HEADROOM = 3;
const MARK_WIDTH = 8;
const MARK_HEIGHT = 6;
const LABEL_INSET = 4;

export function paintTracks(ctx: CanvasRenderingContext2D, scene: Scene, palette: TimePalette): void {
  const { width, height } = ctx.canvas;
  ctx.fillStyle = palette.ground;
  ctx.fillRect(0, 0, width, height);
  const ticks = ticksFor(scene.window, scene.width, scene.textScale);
  paintTicks(ctx, scene, palette, ticks);
  const placed = placedTracks(scene);
  ctx.save();
  ctx.beginPath();
  const below = snap(scene.sizes.ruler + scene.sizes.all, scene.ratio);
  ctx.rect(0, below, width, Math.max(0, height - below));
  ctx.clip();
  for (const track of placed.slice(1)) {
    paintTrack(ctx, scene, palette, track);
  }
  ctx.restore();
  if (placed[0]) {
    paintTrack(ctx, scene, palette, placed[0]);
  }
  if (scene.sizes.ruler > 0) {
    paintRuler(ctx, scene, palette, ticks);
  }
}

function paintTicks(ctx: CanvasRenderingContext2D, scene: Scene, palette: TimePalette, ticks: readonly Tick[]): void {
  ctx.fillStyle = palette.line;
  for (const { time } of ticks) {
    ctx.fillRect(snap(xOf(time, scene.window, scene.width), scene.ratio), 0, hairline(scene.ratio), ctx.canvas.height);
  }
}

function paintTrack(ctx: CanvasRenderingContext2D, scene: Scene, palette: TimePalette, placed: PlacedTrack): void {
  const { answer, ratio } = scene;
  const line = hairline(ratio);
  const bottom = snap(placed.top + placed.height, ratio) - line;
  const room = snap(placed.height - HEADROOM, ratio) - line;
  const { track } = placed;
  const peak = track === null ? 0 : (answer?.tracks[track]?.peak ?? 0);
  if (answer && track !== null && peak > 0 && room > 0) {
    paintArea(ctx, scene, palette, answer, { track, bottom, scale: room / peak });
  }
  ctx.fillStyle = palette.line;
  ctx.fillRect(0, bottom, ctx.canvas.width, line);
}

interface Area {
  track: number;
  /** Device pixels. */
  bottom: number;
  /** Device pixels a unit of weight. */
  scale: number;
}

function paintArea(
  ctx: CanvasRenderingContext2D,
  scene: Scene,
  palette: TimePalette,
  answer: Timeline,
  { track, bottom, scale }: Area,
): void {
  const { window, width, ratio } = scene;
  const { bins, kinds, weights } = answer;
  const length = (answer.end - answer.start) / bins;
  // Only what is in sight: while a zoom waits for its answer, the former one is stretched.
  const first = Math.max(0, Math.floor((window.start - answer.start) / length));
  const past = Math.min(bins, Math.ceil((window.end - answer.start) / length));
  const most = snap(width, ratio);
  const edge = (bin: number): number => Math.min(most, Math.max(0, snap(xOf(answer.start + bin * length, window, width), ratio)));
  const sums = new Float64Array(Math.max(0, past - first));
  for (const { kind, fill } of palette.stack) {
    ctx.fillStyle = fill;
    for (let bin = first; bin < past; bin++) {
      const weight = weights[(track * bins + bin) * kinds + kind] as number;
      if (weight <= 0) {
        continue;
      }
      const under = sums[bin - first] as number;
      sums[bin - first] = under + weight;
      const top = bottom - Math.round((under + weight) * scale);
      const left = edge(bin);
      ctx.fillRect(left, top, edge(bin + 1) - left, bottom - Math.round(under * scale) - top);
    }
  }
  const line = hairline(ratio);
  for (let bin = first; bin < past; bin++) {
    const sum = sums[bin - first] as number;
    const height = Math.round(sum * scale);
    // Any weight at all is seen.
    if (sum > 0 && (height < line || palette.edge !== null)) {
      ctx.fillStyle = palette.edge ?? heaviestFill(palette, weights, (track * bins + bin) * kinds);
      const left = edge(bin);
      ctx.fillRect(left, bottom - Math.max(line, height), edge(bin + 1) - left, line);
    }
  }
}

/** The fill of the kind that has most of a bin, whose columns begin at `from`. */
function heaviestFill({ stack, quiet }: TimePalette, weights: Float32Array, from: number): string | CanvasPattern {
  let [most, fill]: [number, string | CanvasPattern] = [0, quiet];
  for (const each of stack) {
    const weight = weights[from + each.kind] as number;
    if (weight > most) {
      [most, fill] = [weight, each.fill];
    }
  }
  return fill;
}

function paintRuler(ctx: CanvasRenderingContext2D, scene: Scene, palette: TimePalette, ticks: readonly Tick[]): void {
  const { ratio, textScale, sizes } = scene;
  const line = hairline(ratio);
  const height = snap(sizes.ruler, ratio);
  ctx.fillStyle = palette.rulerGround;
  ctx.fillRect(0, 0, ctx.canvas.width, height);
  ctx.fillStyle = palette.line;
  ctx.fillRect(0, height - line, ctx.canvas.width, line);
  ctx.font = `${11 * textScale * ratio}px ${palette.font}`;
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  for (const { time, label } of ticks) {
    const x = snap(xOf(time, scene.window, scene.width), ratio);
    ctx.fillStyle = palette.line;
    ctx.fillRect(x, 0, line, height);
    // Cut off, "60 s" would read "6".
    if (x + LABEL_INSET * ratio + ctx.measureText(label).width <= ctx.canvas.width) {
      ctx.fillStyle = palette.quiet;
      // Above the marks.
      ctx.fillText(label, x + LABEL_INSET * ratio, height / 2 - (MARK_HEIGHT / 4) * textScale * ratio);
    }
  }
  paintMarks(ctx, scene, palette);
}

/** Triangles that point at their time, one for those that would cover each other; what was lost lies over the rest. */
function paintMarks(ctx: CanvasRenderingContext2D, scene: Scene, palette: TimePalette): void {
  const { marks, ratio, textScale, sizes } = scene;
  if (!marks) {
    return;
  }
  const bottom = snap(sizes.ruler, ratio) - hairline(ratio);
  const [half, height] = [(MARK_WIDTH / 2) * textScale * ratio, MARK_HEIGHT * textScale * ratio];
  for (const isLost of [false, true]) {
    ctx.fillStyle = isLost ? palette.lost : palette.quiet;
    ctx.beginPath();
    let free = -half;
    for (let mark = 0; mark < marks.time.length; mark++) {
      const x = snap(xOf(marks.time[mark] as number, scene.window, scene.width), ratio);
      if ((marks.kind[mark] === MARK.lost) === isLost && x >= free && x <= ctx.canvas.width) {
        free = x + 2 * half;
        ctx.moveTo(x - half, bottom - height);
        ctx.lineTo(x + half, bottom - height);
        ctx.lineTo(x, bottom);
      }
    }
    ctx.fill();
  }
}
