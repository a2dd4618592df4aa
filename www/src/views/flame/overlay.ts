// The second canvas: what follows the pointer and the selection. Hovering repaints this one, never the frames.

import { NONE } from "../../session/types.ts";
import type { BoxList } from "./box_list.ts";
import { NO_BOX } from "./hit_test.ts";
import { frame } from "./painter.ts";
import type { Palette } from "./palette.ts";
import type { Scene } from "./scene.ts";
import { hairline } from "./snap.ts";

export interface Marks {
  hovered: number;
  selected: number;
  /** Frames of this function are outlined; NONE for none. */
  functionId: number;
}

/** Paints outlines on the boxes that `boxes` says are on screen. */
export function paintOverlay(ctx: CanvasRenderingContext2D, scene: Scene, palette: Palette, boxes: BoxList, marks: Marks): void {
  const line = hairline(scene.ratio);
  ctx.clearRect(0, 0, ctx.canvas.width, ctx.canvas.height);
  let hovered = -1;
  let selected = -1;
  ctx.fillStyle = palette.ink;
  for (let i = 0; i < boxes.count; i++) {
    const box = boxes.box[i] as number;
    if (box === marks.hovered) {
      hovered = i;
    }
    if (box === marks.selected) {
      selected = i;
    } else if (marks.functionId !== NONE && scene.graph.functionId[box] === marks.functionId) {
      frameBox(ctx, boxes, i, 0, line);
    }
  }
  if (hovered >= 0 && marks.hovered !== NO_BOX) {
    ctx.globalAlpha = 0.1;
    ctx.fillRect(
      boxes.x[hovered] as number,
      boxes.y[hovered] as number,
      boxes.width[hovered] as number,
      boxes.height[hovered] as number,
    );
    ctx.globalAlpha = 1;
    frameBox(ctx, boxes, hovered, 0, line);
  }
  if (selected >= 0) {
    frameBox(ctx, boxes, selected, 0, 2 * line);
    ctx.fillStyle = palette.panel;
    if ((boxes.width[selected] as number) > 8 * line) {
      frameBox(ctx, boxes, selected, 2 * line, line);
    }
  }
}

function frameBox(ctx: CanvasRenderingContext2D, boxes: BoxList, i: number, inset: number, line: number): void {
  // What sticks out of the canvas is drawn at its edge, so that an outline is closed wherever one looks.
  const left = Math.max(0, boxes.x[i] as number);
  const right = Math.min(ctx.canvas.width, (boxes.x[i] as number) + (boxes.width[i] as number));
  frame(
    ctx,
    left + inset,
    (boxes.y[i] as number) + inset,
    right - left - 2 * inset,
    (boxes.height[i] as number) - 2 * inset,
    line,
  );
}
