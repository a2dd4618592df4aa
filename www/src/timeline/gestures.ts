// A pointer on the plot: drags select time, edges are handles, a second finger magnifies, the wheel moves the window.
//
// Nothing is asked or painted here; the model is told what is meant. A drag becomes one after a few pixels, so that a
// click and a double click stay what they are.

/** What a gesture means, in distances from the plot's left and top edges. */
export interface GestureHandlers {
  /** Distance of an edge of the range that is near enough to be grasped, given how near that is; null for none. */
  edgeNear(x: number, reach: number): "start" | "end" | null;
  press(x: number, y: number): void;
  /** A range is being chosen, from where the drag began to where it is; `extend` moves the nearer edge of the former. */
  drag(from: number, to: number, how: "new" | "extend" | "start" | "end", y: number): void;
  /** The drag is over: as it was meant, or not at all. */
  drop(outcome: "kept" | "cancelled"): void;
  hover(x: number, y: number, clientX: number, clientY: number): void;
  leave(): void;
  /** It was pressed and let go in one place. */
  click?(x: number, y: number): void;
  doubleClick(x: number, y: number): void;
  zoom(factor: number, x: number): void;
  /** CSS pixels to the right. */
  pan(pixels: number): void;
}

const CLICK_SLOP = 3;
const REACH = 6;
const REACH_TOUCH = 22;
const WHEEL_ZOOM = 0.002;
const LINE = 16;

interface Press {
  id: number;
  x: number;
  y: number;
  clientX: number;
  clientY: number;
  how: "new" | "extend" | "start" | "end";
  dragging: boolean;
}

/** Where a point of the window lies on the plot; null where it is none of the plot's business. */
export type Locate = (event: MouseEvent) => { x: number; y: number } | null;

/** Starts listening on `area`, where time runs along `axes`; the answer ends it. */
export function followGestures(
  area: HTMLElement,
  locate: Locate,
  axes: "across" | "both",
  handlers: GestureHandlers,
): () => void {
  let press: Press | null = null;
  /** Second fingers and where they are. */
  const fingers = new Map<number, number>();

  const end = (outcome: "kept" | "cancelled"): void => {
    const was = press;
    press = null;
    if (was?.dragging) {
      handlers.drop(outcome);
    }
  };

  const down = (event: PointerEvent): void => {
    const at = locate(event);
    if (event.button !== 0 || at === null) {
      return;
    }
    fingers.set(event.pointerId, event.clientX);
    // Wherever it is let go, that is told here.
    area.setPointerCapture(event.pointerId);
    if (fingers.size > 1) {
      end("cancelled");
      return;
    }
    const edge = handlers.edgeNear(at.x, event.pointerType === "touch" ? REACH_TOUCH : REACH);
    press = {
      id: event.pointerId,
      x: at.x,
      y: at.y,
      clientX: event.clientX,
      clientY: event.clientY,
      how: event.shiftKey ? "extend" : (edge ?? "new"),
      dragging: false,
    };
    handlers.press(at.x, at.y);
  };

  const move = (event: PointerEvent): void => {
    const before = fingers.get(event.pointerId);
    if (before !== undefined && fingers.size === 2) {
      pinch(event, before);
    }
    if (before !== undefined) {
      fingers.set(event.pointerId, event.clientX);
    }
    if (press?.id !== event.pointerId) {
      const at = event.buttons === 0 && event.pointerType !== "touch" ? locate(event) : null;
      if (at === null) {
        handlers.leave();
      } else {
        area.classList.toggle("on-edge", handlers.edgeNear(at.x, REACH) !== null);
        handlers.hover(at.x, at.y, event.clientX, event.clientY);
      }
      return;
    }
    const by = event.clientX - press.clientX;
    const down = event.clientY - press.clientY;
    if (!press.dragging && (Math.abs(by) > CLICK_SLOP || (axes === "both" && Math.abs(down) > CLICK_SLOP))) {
      press.dragging = true;
      handlers.leave();
    }
    if (press.dragging) {
      handlers.drag(press.x, press.x + by, press.how, press.y + down);
    }
  };

  const pinch = (event: PointerEvent, before: number): void => {
    const other = [...fingers].find(([id]) => id !== event.pointerId)?.[1];
    const at = locate(event);
    if (other === undefined || at === null) {
      return;
    }
    const [was, is] = [Math.abs(before - other), Math.abs(event.clientX - other)];
    if (was > CLICK_SLOP && is > CLICK_SLOP) {
      handlers.zoom(is / was, at.x + (other - event.clientX) / 2);
    }
  };

  const up = (event: PointerEvent): void => {
    fingers.delete(event.pointerId);
    if (press?.id === event.pointerId) {
      const { x, y, dragging } = press;
      end("kept");
      if (!dragging) {
        handlers.click?.(x, y);
      }
    }
  };

  const cancel = (event: PointerEvent): void => {
    fingers.delete(event.pointerId);
    if (press?.id === event.pointerId) {
      end("cancelled");
    }
  };

  const escaped = (event: KeyboardEvent): void => {
    if (event.key === "Escape" && press?.dragging) {
      event.preventDefault();
      event.stopPropagation();
      end("cancelled");
    }
  };

  const wheel = (event: WheelEvent): void => {
    const at = locate(event);
    if (at === null) {
      return;
    }
    const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE : 1;
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      handlers.zoom(Math.exp(-event.deltaY * unit * WHEEL_ZOOM), at.x);
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      handlers.pan((event.deltaX || event.deltaY) * unit);
    }
  };

  const doubleClick = (event: MouseEvent): void => {
    const at = locate(event);
    if (at !== null) {
      handlers.doubleClick(at.x, at.y);
    }
  };

  // The browser would give the focus to what lies under the pointer, or to nothing.
  const keepFocus = (event: MouseEvent): void => {
    if (locate(event) !== null) {
      event.preventDefault();
    }
  };

  const stops = new AbortController();
  const { signal } = stops;
  area.addEventListener("pointerdown", down, { signal });
  area.addEventListener("mousedown", keepFocus, { signal });
  area.addEventListener("pointermove", move, { signal });
  area.addEventListener("pointerup", up, { signal });
  area.addEventListener("pointercancel", cancel, { signal });
  area.addEventListener("lostpointercapture", cancel, { signal });
  area.addEventListener("pointerleave", () => handlers.leave(), { signal });
  area.addEventListener("dblclick", doubleClick, { signal });
  area.addEventListener("wheel", wheel, { signal, passive: false });
  addEventListener("keydown", escaped, { signal, capture: true });
  return () => {
    end("cancelled");
    stops.abort();
  };
}
