// What the colour of a box tells: whose code it is, its DSO, what it costs by itself, or how it changed. A match of the
// search and a name that was forced look the same whatever that is.

import type { FlameGraph } from "../../session/types.ts";
import { Flag, Kind, kindBelow } from "../../session/types.ts";
import {
  CHANGE_STEPS,
  FILL_CHANGE,
  FILL_DSO,
  FILL_DSO_UNNAMED,
  FILL_FORCED,
  FILL_FORCED_MATCH,
  FILL_HEAT,
  FILL_HEAT_UNNAMED,
  FILL_MATCH,
  FILL_UNNAMED,
  SHADES,
} from "./palette.ts";

export type Colouring =
  | { by: "kind" }
  /** The place of each of the largest DSOs among them, from 0. */
  | { by: "dso"; places: ReadonlyMap<number, number> }
  | { by: "heat" }
  | Change;

/** How two profiles differ, by box. */
export interface Change {
  by: "change";
  /** −3 to 3. */
  steps: Int8Array;
  /** 0 both, 1 only after, 2 only before. */
  presence: Uint8Array;
  /** Whether what one side lacks takes room for both: it is hatched then. */
  absent: "hatched" | "plain";
  /** What stands at the right of a box, instead of its share. */
  words: (box: number) => string;
}

export const BY_KIND: Colouring = { by: "kind" };

/** Self weight as a share of all that is shown, from which on each step of heat begins; below the first it is the ground. */
const HEAT_FROM = [0, 0.006, 0.02, 0.05, 0.09] as const;

/** 0 to 5. */
export function heatStep(share: number): number {
  return share > 0 ? HEAT_FROM.filter((from) => share >= from).length : 0;
}

type Boxes = Pick<FlameGraph, "kind" | "shade" | "flags" | "dso" | "self" | "allTotal">;

/** The number of a box's fill: a match first, then a forced name, then what is coloured by. */
export function fillOf(graph: Boxes, box: number, colouring: Colouring): number {
  const flags = graph.flags[box] as number;
  if (flags & Flag.Match) {
    return flags & Flag.Forced ? FILL_FORCED_MATCH : FILL_MATCH;
  }
  if (flags & Flag.Forced) {
    return FILL_FORCED;
  }
  const kind = graph.kind[box] as number;
  const shade = Math.min(graph.shade[box] as number, SHADES - 1);
  if (kind >= Kind.Folded || (kind === Kind.Pseudo && colouring.by !== "change")) {
    return (kind === Kind.Folded ? Kind.Folded : Kind.Pseudo) * SHADES;
  }
  switch (colouring.by) {
    case "kind":
      return kind === Kind.Unnamed ? FILL_UNNAMED + kindBelow(flags) : kind * SHADES + shade;
    case "dso": {
      const place = colouring.places.get(graph.dso[box] as number);
      if (place === undefined) {
        return (kind === Kind.Unnamed ? Kind.Unnamed : Kind.Pseudo) * SHADES;
      }
      return kind === Kind.Unnamed ? FILL_DSO_UNNAMED + place : FILL_DSO + place * SHADES + shade;
    }
    case "heat": {
      const step = heatStep(graph.allTotal > 0 ? (graph.self[box] as number) / graph.allTotal : 0);
      return (kind === Kind.Unnamed ? FILL_HEAT_UNNAMED : FILL_HEAT) + step;
    }
    case "change":
      return FILL_CHANGE + (colouring.steps[box] ?? 0) + (CHANGE_STEPS - 1) / 2;
  }
}
