// Words and classes that all views use for the same thing.

import { Flag, Kind, kindBelow, NONE } from "../session/types.ts";
import { counted, percent } from "../state/format.ts";

const KIND_CLASS: Record<number, string> = {
  [Kind.Pseudo]: "pseudo",
  [Kind.Own]: "own",
  [Kind.System]: "system",
  [Kind.Kernel]: "kernel",
  [Kind.Jit]: "jit",
  [Kind.Unnamed]: "unnamed",
  [Kind.Folded]: "folded",
};

/** Class of a frame's swatch; what is forced never has a kind's colour. */
export function swatchClass(kind: number, flags: number): string {
  const hatched = kind === Kind.Unnamed ? ` swatch-${KIND_CLASS[kindBelow(flags)]}` : "";
  return `swatch swatch-${flags & Flag.Forced ? "forced" : (KIND_CLASS[kind] ?? "pseudo")}${hatched}`;
}

/** Class of a frame's name in a table. */
export function nameClass(kind: number, flags: number): string {
  if (flags & Flag.Pseudo || kind === Kind.Pseudo) {
    return "frame-name frame-pseudo";
  }
  if (kind === Kind.Unnamed) {
    return "frame-name frame-unnamed";
  }
  return flags & Flag.Inlined ? "frame-name frame-inlined" : "frame-name";
}

/** Of a column of ids: the id, or null for none. */
export function idAt(column: Uint32Array, index: number): number | null {
  const id = column[index];
  return id === undefined || id === NONE ? null : id;
}

/** "7.8 percent", as it is spoken. */
export function spokenShare(part: number, whole: number): string {
  return percent(share(part, whole))
    .replace(/\u202f/g, " ")
    .replace("< ", "less than ")
    .replace(" %", " percent");
}

/** 0 where there is no whole. */
export function share(part: number, whole: number): number {
  return whole > 0 ? part / whole : 0;
}

/** What is drawn on a box of several calls; `name` is what the session calls it, if it does. */
export function foldedCalls(number: number, name: string): string {
  return name === "" ? counted(number, "narrow call", "narrow calls") : name;
}

/** What is said of a box of several calls. */
export function severalCalls(number: number, name: string, kind: number): string {
  if (kind === Kind.Folded) {
    return foldedCalls(number, name);
  }
  // The session has put their number into the name where they are of one DSO, but draws no name on a narrow box.
  if (kind === Kind.Unnamed) {
    return name === "" ? counted(number, "address", "addresses") : name;
  }
  return `${name === "" ? "one function" : name}, ${counted(number, "call", "calls")}`;
}
