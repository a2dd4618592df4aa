// How the views draw, as the user chose it: kept across pages, no part of what is asked and so of no address.

import type { Signal } from "@preact/signals";
import { computed, effect, signal } from "@preact/signals";
import { dsos } from "../state/app.ts";
import { recall, remember } from "../state/storage.ts";
import type { Colouring } from "./flame/colouring.ts";
import { BY_KIND } from "./flame/colouring.ts";
import { LARGEST_DSOS } from "./flame/palette.ts";
import type { Flow } from "./flame/scene.ts";

/** A choice that outlives the page. */
function kept<T extends string>(name: string, choices: readonly T[], fallback: T): Signal<T> {
  const choice = signal(recall(name, choices, fallback));
  effect(() => remember(name, choice.value));
  return choice;
}

export const COLOURS = [
  ["kind", "kind"],
  ["dso", "DSO"],
  ["heat", "self heat"],
] as const;
export const colourBy = kept("colour", ["kind", "dso", "heat"], "kind");
export const ROOTS = [
  ["top", "at the top"],
  ["bottom", "at the bottom"],
] as const;
export const rootAt = kept("root-at", ["top", "bottom"], "top");
/** Height of a row of a graph, for a mouse. */
export const ROW_HEIGHTS = [
  ["16", "16"],
  ["18", "18"],
  ["22", "22"],
] as const;
export const rowHeight = kept("row-height", ["16", "18", "22"], "18");
export const INLINES = [
  ["shown", "shown"],
  ["merged", "merged"],
] as const;
/** What stands between the root and the first frame. */
export const FIRST_LEVEL = [
  ["auto", "auto"],
  ["process", "process"],
  ["thread", "thread"],
  ["none", "none"],
] as const;
/** What becomes of code without a name: part of what is asked, so that all views show the same. */
export const UNNAMED = [
  ["one-per-dso", "one per DSO"],
  ["each-address", "each address"],
] as const;
/** How callers and callees are drawn beside the functions. */
export const drawAs = kept("draw-as", ["flame", "tree"], "flame");
/** Whether calls of a function by way of itself are one call there. */
export const RECURSION = [
  ["shown", "shown"],
  ["folded", "folded"],
] as const;
export const recursion = kept("recursion", ["shown", "folded"], "shown");

export const flow = computed<Flow>(() => (rootAt.value === "top" ? "down" : "up"));

/** The DSOs with colours of their own, most samples first. */
export const largestDsos = computed(() =>
  dsos.value
    .filter((row) => row.samples > 0)
    .sort((a, b) => b.leaf_samples - a.leaf_samples || b.samples - a.samples)
    .slice(0, LARGEST_DSOS),
);

/** Without hues there are textures for kinds only. */
const forcedColours = globalThis.matchMedia?.("(forced-colors: active)");
const areColoursForced = signal(forcedColours?.matches ?? false);
forcedColours?.addEventListener("change", ({ matches }) => {
  areColoursForced.value = matches;
});

/** What colours tell: what was chosen, where there are colours. */
export const shownColours = computed(() => (areColoursForced.value ? "kind" : colourBy.value));

export const colouring = computed<Colouring>(() => {
  switch (shownColours.value) {
    case "kind":
      return BY_KIND;
    case "heat":
      return { by: "heat" };
    case "dso":
      return { by: "dso", places: new Map(largestDsos.value.map((row, place) => [row.id, place])) };
  }
});
