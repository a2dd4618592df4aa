// A line that resizes what is beside it: by pointer, by arrow keys, and back to normal by a double click.

import type { JSX } from "preact";

interface SplitterProps {
  label: string;
  /** On which edge of the resized element it lies. */
  edge: "left" | "top";
  /** The present size. */
  size: () => number;
  /** 0 resets. */
  onResize: (next: number) => void;
}

const STEP = 16;

export function Splitter({ label, edge, size, onResize }: SplitterProps): JSX.Element {
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
      class={`splitter splitter-${edge}`}
      role="separator"
      aria-orientation={edge === "left" ? "vertical" : "horizontal"}
      aria-label={label}
      tabIndex={0}
      onPointerDown={drag}
      onKeyDown={key}
      onDblClick={() => onResize(0)}
    />
  );
}
