// What painter, overlay and hit test agree on: a laid-out graph seen through a window, on a canvas of given size.

import type { FlameGraph } from "../../session/types.ts";
import type { Colouring } from "./colouring.ts";
import { firstAbove, lastAtMost, rowRange } from "./hit_test.ts";
import { snap } from "./snap.ts";
import type { View } from "./zoom.ts";

export interface Scene {
  graph: FlameGraph;
  /** The width that `graph` was laid out for, and what of the whole it is. */
  layoutPx: number;
  part: View;
  view: View;
  /** CSS pixels. */
  width: number;
  height: number;
  scrollTop: number;
  rowHeight: number;
  /** Device pixels per CSS pixel. */
  ratio: number;
  /** Root font size relative to 16 px: text grows with it. */
  textScale: number;
  flow: Flow;
  /** CSS pixels from the top of the first row to scroll to, to the end of the last. */
  contentHeight: number;
  colouring: Colouring;
}

/** Where callees are drawn: below their caller, or above it with the root at the bottom. */
export type Flow = "down" | "up";

/** CSS pixels from the top of the content to a row. */
export function rowTop({ flow, contentHeight, rowHeight }: RowPlaces, row: number): number {
  return flow === "down" ? row * rowHeight : contentHeight - (row + 1) * rowHeight;
}

/** The row at a distance from the top of the content, or -1. */
export function rowAtTop(scene: RowPlaces & Pick<Scene, "graph">, top: number): number {
  const { flow, contentHeight, rowHeight } = scene;
  const row = flow === "down" ? Math.floor(top / rowHeight) : Math.ceil((contentHeight - top) / rowHeight) - 1;
  return row >= 0 && row < scene.graph.depths ? row : -1;
}

type RowPlaces = Pick<Scene, "flow" | "contentHeight" | "rowHeight">;

/** CSS pixels from the canvas's left edge, unrounded. */
export function screenX(scene: Scene, layoutX: number): number {
  return ((fractionAt(scene, layoutX) - scene.view.left) / scene.view.span) * scene.width;
}

/** Layout pixels at a distance from the canvas's left edge. */
export function layoutX(scene: Scene, x: number): number {
  const fraction = scene.view.left + (x / scene.width) * scene.view.span;
  return ((fraction - scene.part.left) / scene.part.span) * scene.layoutPx;
}

/** What of the whole lies left of a position in the layout, 0 to 1. */
export function fractionAt({ layoutPx, part }: Pick<Scene, "layoutPx" | "part">, layoutX: number): number {
  return part.left + (layoutX / layoutPx) * part.span;
}

/** First and one-past-last row on screen. */
export function visibleRows(scene: Scene): [number, number] {
  const [from, to] =
    scene.flow === "down"
      ? [scene.scrollTop, scene.scrollTop + scene.height]
      : [scene.contentHeight - scene.scrollTop - scene.height, scene.contentHeight - scene.scrollTop];
  const first = Math.max(0, Math.floor(from / scene.rowHeight));
  const last = Math.ceil(to / scene.rowHeight);
  return [first, Math.max(first, Math.min(scene.graph.depths, last))];
}

/** First and one-past-last box of a row on screen. */
export function visibleBoxes(scene: Scene, row: number): [number, number] {
  const { graph } = scene;
  const [from, to] = rowRange(graph, row);
  const first = firstAbove(graph.end, from, to, layoutX(scene, 0));
  return [first, Math.max(first, lastAtMost(graph.start, from, to, layoutX(scene, scene.width)) + 1)];
}

/** Top and height of a row in device pixels, its gap left out. */
export function rowSpan(scene: Scene, row: number, gap: number): [number, number] {
  const y = rowTop(scene, row) - scene.scrollTop;
  const top = snap(y, scene.ratio);
  const bottom = snap(y + scene.rowHeight, scene.ratio);
  return [top, bottom - top - gap];
}
