// A line that resizes what is beside it: by pointer, by arrow keys, and back to normal by a double click.

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

interface SplitterProps {
  label: string;
  /** On which edge of the resized element it lies. */
  edge: "left" | "top";
  /** The present size, and between which it may be. */
  size: () => number;
  least: number;
  most: number;
  /** 0 resets. */
  onResize: (next: number) => void;
}

const STEP = 16;

export function Splitter({ label, edge, size, least, most, onResize }: SplitterProps): JSX.Element {
  const line = useRef<HTMLDivElement>(null);
  // The size is known only once it is laid out.
  useEffect(() => line.current?.setAttribute("aria-valuenow", String(size())));
  const drag = (event: PointerEvent): void => {
    const handle = event.currentTarget as HTMLElement;
    const from = edge === "left" ? event.clientX : event.clientY;
    const before = size();
    handle.setPointerCapture(event.pointerId);
    const move = (moved: PointerEvent): void => onResize(before + from - (edge === "left" ? moved.clientX : moved.clientY));
    const end = (): void => {
      handle.removeEventListener("pointermove", move);
      handle.removeEventListener("pointerup", end);
      handle.removeEventListener("pointercancel", end);
    };
    handle.addEventListener("pointermove", move);
    handle.addEventListener("pointerup", end);
    handle.addEventListener("pointercancel", end);
  };
  const key = (event: KeyboardEvent): void => {
    const [grow, shrink] = edge === "left" ? ["ArrowLeft", "ArrowRight"] : ["ArrowUp", "ArrowDown"];
    if (event.key === grow || event.key === shrink) {
      event.preventDefault();
      onResize(size() + (event.key === grow ? STEP : -STEP));
    }
  };
  return (
    <div
      ref={line}
      class={`splitter splitter-${edge}`}
      role="separator"
      aria-orientation={edge === "left" ? "vertical" : "horizontal"}
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
