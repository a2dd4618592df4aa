// Mouse, pen and fingers on the flame graph.
//
// A mouse hovers, clicks, double-clicks and drags the graph about; Ctrl-wheel (a pinch on a touchpad arrives as one)
// magnifies, Shift-wheel pans, a plain wheel is left to the scroller. A finger taps: once to select, again to zoom; two
// fingers pinch; the browser keeps vertical moves of one finger for scrolling.

import { NO_BOX } from "./hit_test.ts";
import type { FlameStage } from "./stage.ts";

/** CSS pixels that a press may move and still be a click. */
const CLICK_SLOP = 4;
/** Magnification per wheel pixel: a notch of 100 is ×1.35. */
const WHEEL_ZOOM = 0.003;
const LINE = 18;

export interface PointerHandlers {
  /** The pointer is over `box`, or NO_BOX. */
  hover(box: number, clientX: number, clientY: number): void;
  select(box: number): void;
  /** The pointer asks for more of `box`. */
  zoomInto(box: number, clientX: number): void;
  /** Where the pointer is over the graph; null where it has left. */
  pointerAt(clientX: number | null): void;
  /** The pointer asks for the menu of what has just been selected. */
  menu(clientX: number, clientY: number): void;
}

interface Press {
  id: number;
  x: number;
  y: number;
  lastX: number;
  lastY: number;
  dragging: boolean;
}

/**
 * Listens on `scroller`, and for the wheel on all of `area`: the map that appears above the graph once it is magnified
 * may slide under the pointer. The answer stops it.
 */
export function followPointer(
  area: HTMLElement,
  scroller: HTMLElement,
  stage: FlameStage,
  handlers: PointerHandlers,
): () => void {
  const pointers = new Pointers(scroller, stage, handlers);
  const stop = new AbortController();
  const on = <K extends keyof HTMLElementEventMap>(type: K, listen: (event: HTMLElementEventMap[K]) => void): void =>
    scroller.addEventListener(type, listen, { signal: stop.signal, passive: true });
  on("pointermove", (event) => pointers.move(event));
  on("pointerdown", (event) => pointers.down(event));
  on("pointerup", (event) => pointers.up(event));
  on("pointercancel", (event) => pointers.forget(event));
  on("lostpointercapture", (event) => pointers.forget(event));
  on("pointerleave", () => {
    handlers.hover(NO_BOX, 0, 0);
    handlers.pointerAt(null);
  });
  scroller.addEventListener("contextmenu", (event) => pointers.menu(event), { signal: stop.signal });
  on("scroll", () => handlers.hover(NO_BOX, 0, 0));
  on("dblclick", (event) => pointers.doubleClick(event));
  area.addEventListener("wheel", (event) => wheel(event, stage), { signal: stop.signal, passive: false });
  return () => stop.abort();
}

function wheel(event: WheelEvent, stage: FlameStage): void {
  const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE : 1;
  if (event.ctrlKey || event.metaKey) {
    event.preventDefault();
    stage.zoom(Math.exp(-event.deltaY * unit * WHEEL_ZOOM), stage.across(event.clientX), "at-once");
  } else if (event.shiftKey) {
    event.preventDefault();
    stage.pan((event.deltaX || event.deltaY) * unit, "at-once");
  } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
    event.preventDefault();
    stage.pan(event.deltaX * unit, "at-once");
  }
}

class Pointers {
  readonly #scroller: HTMLElement;
  readonly #stage: FlameStage;
  readonly #handlers: PointerHandlers;
  readonly #down = new Map<number, Press>();
  #lastType = "mouse";

  constructor(scroller: HTMLElement, stage: FlameStage, handlers: PointerHandlers) {
    this.#scroller = scroller;
    this.#stage = stage;
    this.#handlers = handlers;
  }

  down(event: PointerEvent): void {
    this.#lastType = event.pointerType;
    const onScrollBar = event.clientX - this.#scroller.getBoundingClientRect().left >= this.#scroller.clientWidth;
    if (event.button !== 0 || onScrollBar) {
      return;
    }
    const { pointerId, clientX, clientY } = event;
    // Wherever it is let go, that is told here.
    this.#scroller.setPointerCapture(pointerId);
    this.#down.set(pointerId, { id: pointerId, x: clientX, y: clientY, lastX: clientX, lastY: clientY, dragging: false });
    if (this.#down.size === 2) {
      for (const press of this.#down.values()) {
        press.dragging = true;
      }
    }
  }

  move(event: PointerEvent): void {
    this.#handlers.pointerAt(event.clientX);
    const press = this.#down.get(event.pointerId);
    if (!press) {
      if (event.pointerType !== "touch" && event.buttons === 0) {
        this.#handlers.hover(this.#stage.boxAt(event.clientX, event.clientY), event.clientX, event.clientY);
      }
      return;
    }
    if (!press.dragging && Math.hypot(event.clientX - press.x, event.clientY - press.y) > CLICK_SLOP) {
      press.dragging = true;
      this.#handlers.hover(NO_BOX, 0, 0);
    }
    if (press.dragging) {
      if (this.#down.size === 2) {
        this.#pinch(press, event);
      } else {
        this.#drag(press, event);
      }
    }
    press.lastX = event.clientX;
    press.lastY = event.clientY;
  }

  #drag(press: Press, event: PointerEvent): void {
    this.#stage.pan(press.lastX - event.clientX, "at-once");
    if (event.pointerType !== "touch") {
      this.#scroller.scrollTop += press.lastY - event.clientY;
    }
  }

  #pinch(press: Press, event: PointerEvent): void {
    const other = [...this.#down.values()].find((each) => each !== press);
    if (!other) {
      return;
    }
    const before = Math.abs(press.lastX - other.lastX);
    const after = Math.abs(event.clientX - other.lastX);
    const middle = (event.clientX + other.lastX) / 2;
    if (before > CLICK_SLOP && after > CLICK_SLOP) {
      this.#stage.zoom(after / before, this.#stage.across(middle), "at-once");
    }
  }

  up(event: PointerEvent): void {
    const press = this.#down.get(event.pointerId);
    this.forget(event);
    if (!press || press.dragging) {
      return;
    }
    const box = this.#stage.boxAt(event.clientX, event.clientY);
    if (event.pointerType === "touch" && box !== NO_BOX && box === this.#stage.selected) {
      this.#handlers.zoomInto(box, event.clientX);
    } else {
      this.#handlers.select(box);
    }
  }

  menu(event: MouseEvent): void {
    const box = this.#stage.boxAt(event.clientX, event.clientY);
    if (box !== NO_BOX) {
      event.preventDefault();
      this.#down.clear();
      this.#handlers.select(box);
      this.#handlers.menu(event.clientX, event.clientY);
    }
  }

  /** Taps were counted already: a finger's second tap zooms wherever the first one was. */
  doubleClick(event: MouseEvent): void {
    if (this.#lastType !== "touch") {
      this.#handlers.zoomInto(this.#stage.boxAt(event.clientX, event.clientY), event.clientX);
    }
  }

  forget(event: PointerEvent): void {
    this.#down.delete(event.pointerId);
  }
}
