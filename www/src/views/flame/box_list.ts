// The boxes on screen in device pixels, ordered by fill, so that the painter changes the fill style a few dozen times
// a frame whatever the number of boxes. The columns are kept from frame to frame: painting allocates nothing.

import { fillOf } from "./colouring.ts";
import { FILLS } from "./palette.ts";
import type { Scene } from "./scene.ts";
import { rowSpan, screenX, visibleBoxes, visibleRows } from "./scene.ts";
import { hairline, snap, widthWithGap } from "./snap.ts";

export class BoxList {
  count = 0;
  /** Index into the graph's columns. */
  box = new Uint32Array(1024);
  x = new Int32Array(1024);
  y = new Int32Array(1024);
  width = new Int32Array(1024);
  height = new Int32Array(1024);
  /** Indexes into the columns above, ordered by fill; `fillStart` has one entry more than there are fills. */
  byFill = new Uint32Array(1024);
  fillStart = new Uint32Array(FILLS + 1);
  /** The number of each box's fill. */
  fill = new Uint8Array(1024);

  /** Lists what of `scene` is on screen. Boxes that cover no pixel edge are left out. */
  collect(scene: Scene): void {
    this.count = 0;
    const gap = hairline(scene.ratio);
    const right = snap(scene.width, scene.ratio);
    const [firstRow, lastRow] = visibleRows(scene);
    for (let row = firstRow; row < lastRow; row++) {
      const [top, height] = rowSpan(scene, row, gap);
      this.#collectRow(scene, row, top, height, right, gap);
    }
    this.#order();
  }

  #collectRow(scene: Scene, row: number, top: number, height: number, rightEdge: number, gap: number): void {
    const { graph, ratio } = scene;
    const [from, to] = visibleBoxes(scene, row);
    this.#reserve(this.count + (to - from));
    for (let box = from; box < to; box++) {
      // Far outside the canvas the numbers would not fit; one pixel outside looks the same.
      const left = Math.max(-gap - 1, snap(screenX(scene, graph.start[box] as number), ratio));
      const right = Math.min(rightEdge + gap + 1, snap(screenX(scene, graph.end[box] as number), ratio));
      const width = widthWithGap(left, right, gap);
      if (width > 0) {
        const i = this.count++;
        this.box[i] = box;
        this.x[i] = left;
        this.y[i] = top;
        this.width[i] = width;
        this.height[i] = height;
        this.fill[i] = fillOf(graph, box, scene.colouring);
      }
    }
  }

  /** Counting sort. */
  #order(): void {
    const starts = this.fillStart.fill(0);
    for (let i = 0; i < this.count; i++) {
      const next = (this.fill[i] as number) + 1;
      starts[next] = (starts[next] as number) + 1;
    }
    for (let fill = 0; fill < FILLS; fill++) {
      starts[fill + 1] = (starts[fill + 1] as number) + (starts[fill] as number);
    }
    const at = starts.slice();
    for (let i = 0; i < this.count; i++) {
      const fill = this.fill[i] as number;
      this.byFill[at[fill] as number] = i;
      at[fill] = (at[fill] as number) + 1;
    }
  }

  #reserve(size: number): void {
    if (size <= this.box.length) {
      return;
    }
    const room = 2 ** Math.ceil(Math.log2(size));
    this.box = grown(this.box, new Uint32Array(room));
    this.x = grown(this.x, new Int32Array(room));
    this.y = grown(this.y, new Int32Array(room));
    this.width = grown(this.width, new Int32Array(room));
    this.height = grown(this.height, new Int32Array(room));
    this.byFill = new Uint32Array(room);
    this.fill = grown(this.fill, new Uint8Array(room));
  }
}

function grown<T extends Uint32Array | Int32Array | Uint8Array>(from: T, to: T): T {
  to.set(from);
  return to;
}
