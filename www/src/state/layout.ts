// Sizes and shapes of the page that the user chose; kept in local storage.

import { computed, effect, signal } from "@preact/signals";
import { comparison, dockOpen, view } from "./app.ts";
import { recall, recallNumber, remember } from "./storage.ts";
import type { View } from "./url.ts";
import { VIEWS } from "./url.ts";
import { narrow, overlaid, short } from "./width.ts";

// The timeline --------------------------------------------------------------------------------------------------------

export type TimelineShape = "tracks" | "strip";

/** In CSS pixels; up to half of the window. */
export const TIMELINE = { least: 64, usual: 134, strip: 28, phone: 82 } as const;

/** Views that need their height more than the time. */
const STARTS_AS_STRIP: readonly View[] = ["functions", "tree", "source"];

/** What the user chose, by view; a view that is not in it starts as the design says. */
const shapes = signal<ReadonlyMap<View, TimelineShape>>(
  new Map(
    VIEWS.flatMap((each) => {
      const kept = recall<TimelineShape | "">(`timeline.${each}`, ["tracks", "strip"], "");
      return kept === "" ? [] : [[each, kept] as const];
    }),
  ),
);

/** What the present view shows of the timeline; "none" where the view itself is about time. */
export const timelineShape = computed<TimelineShape | "none">(() => {
  if (view.value === "heat-map") {
    return "none";
  }
  const usual = short.value || STARTS_AS_STRIP.includes(view.value) ? "strip" : "tracks";
  return shapes.value.get(view.value) ?? usual;
});

export function setTimelineShape(shape: TimelineShape): void {
  shapes.value = new Map(shapes.peek()).set(view.peek(), shape);
  remember(`timeline.${view.peek()}`, shape);
}

const chosenHeight = signal(recallNumber("timelineHeight", TIMELINE.least, 4096, TIMELINE.usual));

/** How high the timeline is where it shows tracks. */
export const timelineHeight = computed(() => (narrow.value ? TIMELINE.phone : chosenHeight.value));

/** 0 resets. */
export function setTimelineHeight(height: number): void {
  const most = Math.max(TIMELINE.least, Math.floor(globalThis.innerHeight / 2));
  chosenHeight.value = height === 0 ? TIMELINE.usual : Math.min(most, Math.max(TIMELINE.least, height));
  remember("timelineHeight", String(chosenHeight.value));
}

// The side panel ------------------------------------------------------------------------------------------------------

/** Views that need their width more than the panel, which waits there to be asked for. */
const STARTS_WITHOUT_DOCK: readonly View[] = ["functions", "time-order", "source", "heat-map"];

/** By view, whether the user left the panel open. */
const docks = new Map<View, boolean>();

/** Also where it would lie over the view it waits to be asked for. */
function startsWithDock(): boolean {
  return !overlaid.value && (comparison.peek() !== null || !STARTS_WITHOUT_DOCK.includes(view.peek()));
}

/** As the views begin with it: another profile is open. */
export function resetDock(): void {
  docks.clear();
  dockOpen.value = startsWithDock();
}

/** Opens and closes the panel with the view that is shown. Call once. */
export function followDock(): void {
  let shown = view.peek();
  effect(() => {
    const now = view.value;
    if (now !== shown) {
      docks.set(shown, dockOpen.peek());
      shown = now;
      dockOpen.value = docks.get(now) ?? startsWithDock();
    }
  });
}

// Density -------------------------------------------------------------------------------------------------------------

export const DENSITIES = ["compact", "comfortable"] as const;
export type Density = (typeof DENSITIES)[number];

/** Comfortable: rows are 4 px higher, text is a size larger. */
export const density = signal<Density>(recall("density", DENSITIES, "compact"));

/** What a row of a table is higher, in 1/16 rem: half of the 4 px, since the larger text makes the other half. */
export const rowExtra = computed(() => (density.value === "comfortable" ? 2 : 0));

/** Applies the density to the document, and keeps what was chosen. Call once. */
export function followLayout(): void {
  effect(() => {
    remember("density", density.value);
    document.documentElement.dataset.density = density.value;
  });
}
