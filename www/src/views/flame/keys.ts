// What keys mean while the flame graph has the focus.

import type { PressedKey } from "../../state/commands.ts";

export type FlameAction =
  | { kind: "move"; to: "parent" | "child" | "previous" | "next" | "root" | "hottest" }
  | { kind: "zoom-into-selection" | "out-one" | "reset" | "invert" | "clear" }
  | { kind: "magnify"; factor: number }
  /** Parts of the screen's width; negative is to the left. */
  | { kind: "pan"; screens: number };

const MAGNIFY = 1.5;
const PAN = 0.2;

const PLAIN: Record<string, FlameAction> = {
  ArrowUp: { kind: "move", to: "parent" },
  ArrowDown: { kind: "move", to: "child" },
  ArrowLeft: { kind: "move", to: "previous" },
  ArrowRight: { kind: "move", to: "next" },
  Home: { kind: "move", to: "root" },
  End: { kind: "move", to: "hottest" },
  Enter: { kind: "zoom-into-selection" },
  Backspace: { kind: "out-one" },
  Escape: { kind: "clear" },
  "0": { kind: "reset" },
  i: { kind: "invert" },
  w: { kind: "magnify", factor: MAGNIFY },
  "+": { kind: "magnify", factor: MAGNIFY },
  "=": { kind: "magnify", factor: MAGNIFY },
  s: { kind: "magnify", factor: 1 / MAGNIFY },
  "-": { kind: "magnify", factor: 1 / MAGNIFY },
  a: { kind: "pan", screens: -PAN },
  d: { kind: "pan", screens: PAN },
};

/** The action for a key, or null if the page may have other use for it. Letters may be switched off. */
export function flameAction(key: PressedKey, letters: "on" | "off" = "on"): FlameAction | null {
  if (key.ctrlKey || key.metaKey || key.altKey || (letters === "off" && /^[a-z]$/i.test(key.key))) {
    return null;
  }
  if (key.shiftKey && key.key === "ArrowLeft") {
    return { kind: "pan", screens: -PAN };
  }
  if (key.shiftKey && key.key === "ArrowRight") {
    return { kind: "pan", screens: PAN };
  }
  return Object.hasOwn(PLAIN, key.key) ? (PLAIN[key.key] ?? null) : null;
}
