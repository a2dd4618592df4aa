// The moving parts behind the flame graph's two canvases: size, window, animation, what is marked.
//
// The canvases stick to the top of a scroller whose content is as high as the graph: the browser scrolls, the stage paints
// the rows that are then visible.

import type { ReadonlySignal } from "@preact/signals";
import { signal } from "@preact/signals";
import type { FlameGraph } from "../../session/types.ts";
import { NONE } from "../../session/types.ts";
import type { CanvasSize } from "../backing.ts";
import { fitBacking, NO_SIZE } from "../backing.ts";
import { CanvasStage } from "../canvas_stage.ts";
import { textScale } from "../text_scale.ts";
import { boxAt, boxOfCallNode, heaviestOfFunction, NO_BOX, rowOf } from "./hit_test.ts";
import type { Colouring } from "./colouring.ts";
import { BY_KIND } from "./colouring.ts";
import { paintOverlay } from "./overlay.ts";
import { FlamePainter } from "./painter.ts";
import type { Palette } from "./palette.ts";
import { readPalette } from "./palette.ts";
import type { Flow, Scene } from "./scene.ts";
import { fractionAt, layoutX, rowAtTop, rowTop, screenX } from "./scene.ts";
import type { Sight, View } from "./zoom.ts";
import { between, easeOut, layoutScreens, ownSight, pan, reveal, shrunkTo, WHOLE, zoomAbout } from "./zoom.ts";

const ZOOM_MS = 180;
/** CSS pixels at a root font size of 16 px. */
const ROW_TOUCH = 24;
const BELOW = 8;
/** When boxes took longer, labels are painted in the next frame. */
const BOX_BUDGET_MS = 9;

const WORK = ["overlay", "labels", "frames"] as const;
type Work = (typeof WORK)[number];

export interface StageElements {
  scroller: HTMLElement;
  /** As high as the graph. */
  content: HTMLElement;
  frames: HTMLCanvasElement;
  overlay: HTMLCanvasElement;
}

/** How a graph is drawn; `row` is a row's height for a mouse, in CSS pixels at a root font size of 16 px. */
export interface GraphAppearance {
  row: number;
  flow: Flow;
  colouring: Colouring;
}

/** A laid-out graph with what was asked for. */
export interface LaidOutGraph {
  graph: FlameGraph;
  root: number;
  layoutPx: number;
  /** What of the whole is laid out; all of it where the whole is a tree. */
  part: View;
  searching: boolean;
  /** `Layout.key`. */
  key: string;
}

interface Animation {
  from: View;
  to: View;
  /** CSS pixels that the rows are moved down at the beginning. */
  fromY: number;
  began: number;
}

/** Its width is that of the canvas. */
export class FlameStage extends CanvasStage<Work> {
  /** How many screens wide the worker should lay out. */
  readonly screens = signal(1);
  readonly #el: StageElements;
  readonly #overlay: CanvasRenderingContext2D;
  readonly #painter: FlamePainter;
  readonly #touch = matchMedia("(pointer: coarse), (max-width: 719px)");
  readonly #still = matchMedia("(prefers-reduced-motion: reduce)");
  #palette: Palette | null = null;
  #laid: LaidOutGraph | null = null;
  #view: View = WHOLE;
  #animation: Animation | null = null;
  readonly #sight: Sight;
  #size = NO_SIZE;
  #contentHeight = 0;
  #look: GraphAppearance = { row: 18, flow: "down", colouring: BY_KIND };
  #hovered = NO_BOX;
  #selection: { callNode: number; functionId: number } = { callNode: NONE, functionId: NONE };
  #selected = NO_BOX;
  #outlined: number = NONE;
  /** Whether the overlay was left with something on it. */
  #hasMarks = false;
  #textScale = textScale();
  #painted: FlameGraph | null = null;

  constructor(elements: StageElements, sight: Sight = ownSight()) {
    super(WORK, elements.scroller);
    this.#sight = sight;
    this.#view = sight.view.peek();
    this.#el = elements;
    this.#painter = new FlamePainter(this.paintOn(elements.frames, (size) => this.#resized(size)));
    this.#overlay = this.paintOn(elements.overlay);
    this.listen(this.#touch, "change", () => {
      this.#setHeight();
      this.invalidate("frames");
    });
  }

  get laid(): LaidOutGraph | null {
    return this.#laid;
  }

  /** The window that is, or is being, moved to. */
  get target(): ReadonlySignal<View> {
    return this.#sight.view;
  }

  /** Shows what others have moved to. */
  follow(view: View): void {
    if (this.#sight.motion === "at-once") {
      this.#view = view;
      this.invalidate("frames");
    }
  }

  get rowHeight(): number {
    return (this.#touch.matches ? ROW_TOUCH : this.#look.row) * this.#textScale;
  }

  /** Changes how the graph is drawn. */
  look(look: GraphAppearance): void {
    const former = this.#look;
    this.#look = look;
    this.#setHeight();
    if (former.flow !== look.flow) {
      this.#toRoot();
    }
    this.invalidate("frames");
  }

  /** Shows a graph. If its root is another one, it grows out of, or shrinks into, the place it has in the former. */
  show(laid: LaidOutGraph): void {
    const former = this.#laid;
    const formerScene = this.#scene();
    this.#laid = laid;
    this.#hovered = NO_BOX;
    this.#select();
    this.#setHeight();
    if (former !== null && former.root !== laid.root) {
      this.#toRoot();
      const scene = this.#scene();
      const begin = formerScene && scene && beginning(formerScene, scene, former, laid);
      this.#move(WHOLE, "animated", begin ?? undefined);
    }
    this.invalidate("frames");
  }

  /** Marks a call node and the frames of its function. */
  select(selection: { callNode: number | null; functionId: number | null } | null): void {
    this.#selection = { callNode: selection?.callNode ?? NONE, functionId: selection?.functionId ?? NONE };
    this.#select();
    this.invalidate("overlay");
  }

  /** Marks a box that is no one call; the next `select` takes that back. */
  selectBox(box: number): void {
    this.#selected = box;
    this.invalidate("overlay");
  }

  get selected(): number {
    return this.#selected;
  }

  hover(box: number): void {
    if (box !== this.#hovered) {
      this.#hovered = box;
      this.invalidate("overlay");
    }
  }

  /** Reads tokens and fonts again. */
  themeChanged(): void {
    this.#palette = null;
    this.#textScale = textScale();
    this.#setHeight();
    this.invalidate("frames");
  }

  /** The box at a point of the window, folded ones included. */
  boxAt(clientX: number, clientY: number): number {
    const scene = this.#scene();
    if (!scene) {
      return NO_BOX;
    }
    const place = this.#el.frames.getBoundingClientRect();
    const row = rowAtTop(scene, clientY - place.top + scene.scrollTop);
    return row === NO_BOX ? NO_BOX : boxAt(scene.graph, row, layoutX(scene, clientX - place.left));
  }

  /** Where a point of the window lies on the canvas, 0 to 1 from the left. */
  across(clientX: number): number {
    const place = this.#el.frames.getBoundingClientRect();
    return place.width > 0 ? (clientX - place.left) / place.width : 0.5;
  }

  zoom(factor: number, pointer: number, how: "at-once" | "animated"): void {
    this.#move(zoomAbout(this.target.peek(), pointer, factor, this.#sight.smallest()), how);
  }

  /** Moves to the right by CSS pixels. */
  pan(pixels: number, how: "at-once" | "animated"): void {
    if (this.width.peek() > 0) {
      this.#move(pan(this.target.peek(), pixels / this.width.peek()), how);
    }
  }

  showAll(): void {
    this.#move(WHOLE, "animated");
  }

  /** Back to what was on screen before; whether that was anything else. */
  out(): boolean {
    const isOut = this.#sight.out();
    if (isOut) {
      this.#move(this.target.peek(), "animated");
    }
    return isOut;
  }

  /** What of the whole a box covers. */
  placeOf(box: number): View {
    if (!this.#laid || box === NO_BOX) {
      return WHOLE;
    }
    const left = fractionAt(this.#laid, this.#laid.graph.start[box] as number);
    return { left, span: fractionAt(this.#laid, this.#laid.graph.end[box] as number) - left };
  }

  /** Scrolls and pans so that a box is on screen. */
  reveal(box: number): void {
    if (!this.#laid || box === NO_BOX) {
      return;
    }
    const { graph } = this.#laid;
    const { left, span } = this.placeOf(box);
    this.#move(reveal(this.target.peek(), left, left + span), "animated");
    const { scroller } = this.#el;
    const scene = this.#scene();
    const top = scene ? rowTop(scene, rowOf(graph, box)) : 0;
    if (top < scroller.scrollTop) {
      scroller.scrollTop = top;
    } else if (top + this.rowHeight > scroller.scrollTop + this.#size.height) {
      scroller.scrollTop = top + this.rowHeight - this.#size.height + BELOW;
    }
  }

  /** The rectangle of a box in the window's CSS pixels. */
  rectOf(box: number): DOMRect | null {
    const scene = this.#scene();
    if (!scene || box === NO_BOX) {
      return null;
    }
    const place = this.#el.frames.getBoundingClientRect();
    const left = screenX(scene, scene.graph.start[box] as number);
    const right = screenX(scene, scene.graph.end[box] as number);
    const top = rowTop(scene, rowOf(scene.graph, box)) - scene.scrollTop;
    return new DOMRect(place.left + left, place.top + top, right - left, scene.rowHeight);
  }

  #select(): void {
    const { callNode, functionId } = this.#selection;
    const graph = this.#laid?.graph;
    this.#outlined = functionId;
    if (!graph) {
      this.#selected = NO_BOX;
    } else if (callNode !== NONE) {
      this.#selected = boxOfCallNode(graph, callNode);
      if (this.#selected !== NO_BOX) {
        this.#outlined = graph.functionId[this.#selected] as number;
      }
    } else {
      this.#selected = functionId === NONE ? NO_BOX : heaviestOfFunction(graph, functionId);
    }
  }

  #move(to: View, how: "at-once" | "animated", begin?: AnimationStart): void {
    this.#sight.show(to);
    this.screens.value = layoutScreens(to);
    const from = begin?.view ?? this.#view;
    const same = begin === undefined && from.left === to.left && from.span === to.span;
    if (how === "animated" && this.#sight.motion === "animated" && !this.#still.matches && !same) {
      this.#animation = { from, to, fromY: begin?.y ?? 0, began: performance.now() };
    } else {
      this.#animation = null;
      this.#view = this.target.peek();
    }
    this.invalidate("frames");
  }

  /** Makes the content as high as the graph; what is drawn from the bottom keeps its distance from there. */
  #setHeight(): void {
    const { scroller, content } = this.#el;
    const before = this.#contentHeight;
    const below = before - this.#size.height - scroller.scrollTop;
    const rows = this.#laid?.graph.depths ?? 0;
    const height = rows * this.rowHeight + BELOW;
    content.style.height = `${height}px`;
    this.#contentHeight = Math.max(height, this.#size.height);
    if (this.#look.flow === "up" && this.#contentHeight !== before) {
      scroller.scrollTop = this.#contentHeight - this.#size.height - Math.max(0, below);
    }
  }

  /** Scrolls to where the root is. */
  #toRoot(): void {
    this.#el.scroller.scrollTop = this.#look.flow === "down" ? 0 : this.#contentHeight;
  }

  #resized(size: CanvasSize): void {
    if (size.ratio !== this.#size.ratio) {
      this.#palette = null;
    }
    this.#size = size;
    this.width.value = size.width;
    this.#textScale = textScale();
    this.#setHeight();
    this.invalidate("frames");
  }

  #scene(): Scene | null {
    const width = this.width.peek();
    if (!this.#laid || width === 0) {
      return null;
    }
    return {
      graph: this.#laid.graph,
      layoutPx: this.#laid.layoutPx,
      part: this.#laid.part,
      view: this.#view,
      width,
      height: this.#size.height,
      scrollTop: this.#el.scroller.scrollTop,
      rowHeight: this.rowHeight,
      ratio: this.#size.ratio,
      textScale: this.#textScale,
      flow: this.#look.flow,
      contentHeight: this.#contentHeight,
      colouring: this.#look.colouring,
    };
  }

  protected override paint(work: Work, now: number): void {
    const lift = this.#advance(now);
    fitBacking(this.#el.frames, this.#size);
    fitBacking(this.#el.overlay, this.#size);
    const scene = this.#scene();
    if (!scene || !this.#laid) {
      return;
    }
    scene.scrollTop -= lift;
    this.#palette ??= readPalette(this.#size.ratio);
    const { searching } = this.#laid;
    let labels = work === "labels";
    if (work === "frames") {
      const began = performance.now();
      this.#painter.paintBoxes(scene, this.#palette, searching);
      labels = performance.now() - began <= BOX_BUDGET_MS;
      if (this.#painted !== this.#laid.graph) {
        this.#painted = this.#laid.graph;
        performance.mark("perftab:flame-graph"); // What tests and measurements wait for.
      }
      if (!labels) {
        this.invalidate("labels");
      }
    }
    if (labels) {
      this.#painter.paintLabels(scene, this.#palette, searching);
    }
    this.#paintOverlay(scene, this.#palette);
  }

  #paintOverlay(scene: Scene, palette: Palette): void {
    const marks = {
      hovered: this.#animation ? NO_BOX : this.#hovered,
      selected: this.#selected,
      functionId: this.#outlined,
    };
    const hasMarks = marks.hovered !== NO_BOX || marks.selected !== NO_BOX || marks.functionId !== NONE;
    // Clearing a whole canvas costs as much as a thousand boxes: not for nothing.
    if (hasMarks || this.#hasMarks) {
      paintOverlay(this.#overlay, scene, palette, this.#painter.boxes, marks);
    }
    this.#hasMarks = hasMarks;
  }

  /** Moves the window to where the animation is at `now`; answers how far the rows are moved down. */
  #advance(now: number): number {
    const animation = this.#animation;
    if (!animation) {
      return 0;
    }
    const t = Math.min(1, Math.max(0, (now - animation.began) / ZOOM_MS));
    if (t === 1) {
      this.#animation = null;
      this.#view = animation.to;
      return 0;
    }
    const eased = easeOut(t);
    this.#view = between(animation.from, animation.to, eased);
    this.invalidate("frames");
    return animation.fromY * (1 - eased);
  }
}

interface AnimationStart {
  view: View;
  y: number;
}

function onScreen(scene: Scene, row: number): number {
  return rowTop(scene, row) - scene.scrollTop;
}

/** Where the graph `next` has to begin so that what both show stays where it is on screen. */
function beginning(scene: Scene, nextScene: Scene, former: LaidOutGraph, next: LaidOutGraph): AnimationStart | null {
  const inner = boxOfCallNode(former.graph, next.root);
  if (inner !== NO_BOX) {
    const from = screenX(scene, former.graph.start[inner] as number) / scene.width;
    const to = screenX(scene, former.graph.end[inner] as number) / scene.width;
    return { view: shrunkTo(from, to), y: onScreen(scene, rowOf(former.graph, inner)) - onScreen(nextScene, 0) };
  }
  const outer = boxOfCallNode(next.graph, former.root);
  if (outer !== NO_BOX) {
    const left = fractionAt(next, next.graph.start[outer] as number);
    const right = fractionAt(next, next.graph.end[outer] as number);
    return {
      view: { left, span: Math.max(1e-6, right - left) },
      y: onScreen(scene, 0) - onScreen(nextScene, rowOf(next.graph, outer)),
    };
  }
  return null;
}
