// What keys mean while the timeline or the heat map has the focus: time is moved, code is not.

import type { PressedKey } from "../state/commands.ts";

export type TimeAction =
  /** About the cursor. */
  | { kind: "zoom"; factor: number }
  /** By shares of what is in sight; negative is earlier. */
  | { kind: "pan"; share: number }
  | { kind: "all" | "fit-range" | "out-one" }
  /** Steps of the view's own: a pixel or a cell, a tenth of the screen, all the way. */
  | { kind: "cursor"; along: "time" | "rows"; steps: number; range: "kept" | "extended" }
  | { kind: "mark"; to: "earlier" | "later" };

const ZOOM = 1.5;
const PAN = 0.2;
const LEAP = 10;

/** The action for a key, or null if the page may have other use for it. */
export function timeAction(key: PressedKey): TimeAction | null {
  if (key.ctrlKey || key.metaKey || key.altKey) {
    return null;
  }
  const range = key.shiftKey ? "extended" : "kept";
  const cursor = (steps: number, along: "time" | "rows" = "time"): TimeAction => ({ kind: "cursor", along, steps, range });
  switch (key.key) {
    case "w":
    case "+":
    case "=":
      return { kind: "zoom", factor: ZOOM };
    case "s":
    case "-":
      return { kind: "zoom", factor: 1 / ZOOM };
    case "a":
      return { kind: "pan", share: -PAN };
    case "d":
      return { kind: "pan", share: PAN };
    case "0":
      return { kind: "all" };
    case "f":
      return { kind: "fit-range" };
    case "Backspace":
      return { kind: "out-one" };
    case "ArrowLeft":
      return cursor(-1);
    case "ArrowRight":
      return cursor(1);
    case "ArrowUp":
      return cursor(-1, "rows");
    case "ArrowDown":
      return cursor(1, "rows");
    case "PageUp":
      return cursor(-LEAP);
    case "PageDown":
      return cursor(LEAP);
    case "Home":
      return cursor(-Infinity);
    case "End":
      return cursor(Infinity);
    case "[":
      return { kind: "mark", to: "earlier" };
    case "]":
      return { kind: "mark", to: "later" };
    default:
      return null;
  }
}

/** Whether a key that goes up ends what keys were doing: while Shift is held, more may follow. */
export function isLetGo(key: PressedKey): boolean {
  return key.key === "Shift" || !key.shiftKey;
}
