// Where a view asks for the menu of what is selected: by the secondary button, the menu key, or a long touch.

import { signal } from "@preact/signals";

export interface MenuRequest {
  /** In the window, CSS pixels: where the menu's corner goes. */
  x: number;
  y: number;
  /** What gets the focus back. */
  from: HTMLElement | null;
}

/** Set by views, taken by the menu, which is one for all of them and acts on the selection. */
export const menuRequest = signal<MenuRequest | null>(null);
