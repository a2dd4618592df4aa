// Which of the design's widths holds. Style sheets decide nearly everything; these decide what is rendered at all.

import { signal } from "@preact/signals";

function follow(query: string): { readonly value: boolean } {
  const list = matchMedia(query);
  const matches = signal(list.matches);
  list.addEventListener("change", () => {
    matches.value = list.matches;
  });
  return matches;
}

/** A phone: the dock becomes a sheet at the foot. */
export const narrow = follow("(max-width: 719px)");
/** A tablet: the dock lies over the view. */
export const overlaid = follow("(max-width: 1024px)");
/** Too low for everything at once: the timeline starts as its strip. */
export const short = follow("(max-height: 619px)");
