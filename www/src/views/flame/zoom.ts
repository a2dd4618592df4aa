// The horizontal window onto a flame graph: which part of the root's width is
// on screen. Positions are fractions of the root (0 to 1), so a window stays
// right when the canvas is resized or the worker lays out for another width.

import type { ReadonlySignal } from "@preact/signals";
import { signal } from "@preact/signals";

/** `left` is at the screen's left edge; `span` fills the screen's width. */
export interface View {
  left: number;
  span: number;
}

export const WHOLE: View = { left: 0, span: 1 };

/** What of the whole is, or is being, moved on screen, and what moves it: a graph's own, or one that others show as well. */
export interface Sight {
  readonly view: ReadonlySignal<View>;
  /** What others show as well moves at once: it would stand elsewhere meanwhile. */
  readonly motion: "animated" | "at-once";
  /** The least part of the whole that may fill the screen. */
  smallest(): number;
  show(view: View): void;
  /** Back to where it was before; false where that is nowhere. */
  out(): boolean;
}

/** Of a tree; to go deeper, zoom into a frame. */
const TREE_SPAN = 1 / 64;

/** A graph's own. */
export function ownSight(): Sight {
  const view = signal(WHOLE);
  return {
    view,
    motion: "animated",
    smallest: () => TREE_SPAN,
    show(to) {
      view.value = to;
    },
    out() {
      const isZoomed = view.peek().span < 1;
      view.value = WHOLE;
      return isZoomed;
    },
  };
}

/** The worker is asked for at most this many screens' width of boxes. */
const WIDEST_LAYOUT = 16;

/** Nearest window that stays inside the root and is no smaller than `smallest`. */
export function clampView(view: View, smallest: number): View {
  const span = Math.min(1, Math.max(smallest, view.span));
  return { span, left: Math.min(1 - span, Math.max(0, view.left)) };
}

/** Magnifies by `factor`, keeping what is at `pointer` (0 to 1 of the screen) there. */
export function zoomAbout(view: View, pointer: number, factor: number, smallest: number): View {
  const span = Math.min(1, Math.max(smallest, view.span / factor));
  return clampView({ span, left: view.left + pointer * (view.span - span) }, smallest);
}

/** Moves the window by a part of the screen's width; positive is to the right. */
export function pan(view: View, screens: number): View {
  return clampView({ span: view.span, left: view.left + screens * view.span }, view.span);
}

/** The smallest move that brings [start, end] (fractions) on screen. */
export function reveal(view: View, start: number, end: number): View {
  const right = view.left + view.span;
  if (start < right && end > view.left && (start >= view.left || end <= right)) {
    if (start >= view.left && end <= right) {
      return view;
    }
  }
  if (start <= view.left && end >= right) return view; // it fills the screen
  if (end - start >= view.span) {
    return clampView({ span: view.span, left: start }, view.span);
  }
  if (start < view.left) {
    return clampView({ span: view.span, left: start }, view.span);
  }
  return clampView({ span: view.span, left: end - view.span }, view.span);
}

/** How many screens wide the worker should lay out, a power of two. */
export function layoutScreens(view: View): number {
  const wanted = 2 ** Math.ceil(Math.log2(1 / view.span) - 1e-9);
  return Math.min(WIDEST_LAYOUT, Math.max(1, wanted));
}

/**
 * The window in which a root, that now is the whole graph, fills only the
 * screen's part [from, to]: where zooming into that part begins.
 */
export function shrunkTo(from: number, to: number): View {
  const span = 1 / Math.max(1e-6, to - from);
  return { span, left: -from * span };
}

/** Between two windows: the span changes by equal ratios about a fixed point. */
export function between(a: View, b: View, t: number): View {
  if (Math.abs(a.span - b.span) < 1e-9) {
    return { span: b.span, left: a.left + (b.left - a.left) * t };
  }
  const span = a.span * (b.span / a.span) ** t;
  return { span, left: a.left + ((b.left - a.left) * (span - a.span)) / (b.span - a.span) };
}

export function easeOut(t: number): number {
  return 1 - (1 - t) ** 3;
}
