// What painter, overlay and hit test agree on: a laid-out graph seen through a window, on a canvas of given size.

import type { FlameGraph } from "../../session/types.ts";
import { firstAbove, lastAtMost, rowRange } from "./hit_test.ts";
import { snap } from "./snap.ts";
import type { View } from "./zoom.ts";

export interface Scene {
  graph: FlameGraph;
  /** The width that `graph` was laid out for. */
  layoutPx: number;
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
}

/** CSS pixels from the canvas's left edge, unrounded. */
export function screenX(scene: Scene, layoutX: number): number {
  return ((layoutX / scene.layoutPx - scene.view.left) / scene.view.span) * scene.width;
}

/** Layout pixels at a distance from the canvas's left edge. */
export function layoutX(scene: Scene, x: number): number {
  return (scene.view.left + (x / scene.width) * scene.view.span) * scene.layoutPx;
}

/** First and one-past-last row on screen. */
export function visibleRows(scene: Scene): [number, number] {
  const first = Math.max(0, Math.floor(scene.scrollTop / scene.rowHeight));
  const last = Math.ceil((scene.scrollTop + scene.height) / scene.rowHeight);
  return [first, Math.max(first, Math.min(scene.graph.depths, last))];
}

/** First and one-past-last box of a row on screen. */
export function visibleBoxes(scene: Scene, row: number): [number, number] {
  const { graph } = scene;
  const [from, to] = rowRange(graph, row);
  const first = firstAbove(graph.end, from, to, layoutX(scene, 0));
  return [first, Math.max(first, lastAtMost(graph.start, from, to, layoutX(scene, scene.width)) + 1)];
}

/** A rectangle in device pixels. */
export interface DeviceRect {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Top and height of a row in device pixels, its gap left out. */
export function rowSpan(scene: Scene, row: number, gap: number): [number, number] {
  const top = snap(row * scene.rowHeight - scene.scrollTop, scene.ratio);
  const bottom = snap((row + 1) * scene.rowHeight - scene.scrollTop, scene.ratio);
  return [top, bottom - top - gap];
}
