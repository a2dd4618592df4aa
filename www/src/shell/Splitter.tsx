// A line that resizes what is beside it: by pointer, by arrow keys, and back to normal by a double click.

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

interface SplitterProps {
  label: string;
  /** On which edge of the resized element it lies. */
  edge: "left" | "right" | "top" | "bottom";
  /** The present size, and between which it may be. */
  size: () => number;
  least: number;
  most: number;
  /** 0 resets. */
  onResize: (next: number) => void;
}

const STEP = 16;

/** By edge: the axis, the way in which dragging grows the element, and the keys that do. */
const WAYS = {
  left: { axis: "clientX", sign: -1, grow: "ArrowLeft", shrink: "ArrowRight" },
  right: { axis: "clientX", sign: 1, grow: "ArrowRight", shrink: "ArrowLeft" },
  top: { axis: "clientY", sign: -1, grow: "ArrowUp", shrink: "ArrowDown" },
  bottom: { axis: "clientY", sign: 1, grow: "ArrowDown", shrink: "ArrowUp" },
} as const;

export function Splitter({ label, edge, size, least, most, onResize }: SplitterProps): JSX.Element {
  const line = useRef<HTMLDivElement>(null);
  // The size is known only once it is laid out.
  useEffect(() => line.current?.setAttribute("aria-valuenow", String(size())));
  const { axis, sign, grow, shrink } = WAYS[edge];
  const drag = (event: PointerEvent): void => {
    const handle = event.currentTarget as HTMLElement;
    const from = event[axis];
    const before = size();
    handle.setPointerCapture(event.pointerId);
    const move = (moved: PointerEvent): void => onResize(Math.max(1, before + sign * (moved[axis] - from)));
    const end = (): void => {
      handle.removeEventListener("pointermove", move);
      handle.removeEventListener("pointerup", end);
      handle.removeEventListener("pointercancel", end);
      handle.removeEventListener("lostpointercapture", end);
    };
    handle.addEventListener("pointermove", move);
    handle.addEventListener("pointerup", end);
    handle.addEventListener("pointercancel", end);
    // Whatever takes the pointer away, as a dialog may, ends it.
    handle.addEventListener("lostpointercapture", end);
  };
  const key = (event: KeyboardEvent): void => {
    if (event.key === grow || event.key === shrink) {
      event.preventDefault();
      event.stopPropagation();
      onResize(Math.max(1, size() + (event.key === grow ? STEP : -STEP)));
    }
  };
  return (
    <div
      ref={line}
      class={`splitter splitter-${edge}`}
      // biome-ignore lint/a11y/useAriaPropsForRole: aria-valuenow is set when the size is known
      role="separator"
      aria-orientation={axis === "clientX" ? "vertical" : "horizontal"}
      aria-label={label}
      aria-valuemin={least}
      aria-valuemax={most}
      tabIndex={0}
      onPointerDown={drag}
      onKeyDown={key}
      onDblClick={() => onResize(0)}
    />
  );
}
