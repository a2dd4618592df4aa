// System, Light or Dark. Dark and light of "System" come from the browser through `color-scheme`.

import { effect, signal } from "@preact/signals";
import { recall, remember } from "./storage.ts";

export type Theme = "system" | "light" | "dark";

export const theme = signal<Theme>(recall("theme", ["system", "light", "dark"], "system"));

/** Counts the times that colours or the size of text changed; canvases read them again. */
export const themeGeneration = signal(0);

/** Applies the theme to the document and follows the system's. Call once. */
export function followTheme(): void {
  effect(() => {
    remember("theme", theme.value);
    if (theme.value === "system") {
      delete document.documentElement.dataset.theme;
    } else {
      document.documentElement.dataset.theme = theme.value;
    }
    themeGeneration.value = themeGeneration.peek() + 1;
  });
  followTextSize();
  for (const query of ["(prefers-color-scheme: dark)", "(forced-colors: active)"]) {
    matchMedia(query).addEventListener("change", () => {
      themeGeneration.value += 1;
    });
  }
}

/** No event tells of the root's font size; an element that is as wide as it does. */
function followTextSize(): void {
  const probe = document.createElement("span");
  probe.className = "text-size";
  document.body.append(probe);
  new ResizeObserver(() => {
    themeGeneration.value += 1;
  }).observe(probe);
}
