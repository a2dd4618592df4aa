// What painters and pointers of the timeline agree on: which rows are where, seen through a window of time, on a canvas
// of given size. Distances are CSS pixels from the canvas's top left corner.

import type { Marks, Timeline } from "../session/types.ts";
import type { TimeSpan } from "./time_window.ts";

export interface Scene {
  answer: Timeline | null;
  /** The track of the answer that each row below all CPUs shows, or null for a row with nothing. */
  rows: readonly (number | null)[];
  marks: Marks | null;
  /** Of time, on screen. */
  window: TimeSpan;
  /** Of the plot; the canvas is wider by a margin. */
  width: number;
  height: number;
  scrollTop: number;
  sizes: Sizes;
  /** Device pixels per CSS pixel. */
  ratio: number;
  textScale: number;
}

/** Heights. */
export interface Sizes {
  ruler: number;
  all: number;
  row: number;
}

/** The row of all CPUs, above those that scroll. */
export const ALL_ROW = -1;

/** A row on screen, the track of the answer in it, and where it is. */
export interface PlacedTrack {
  row: number;
  track: number | null;
  top: number;
  height: number;
}

export const RULER = 20;
const ALL_CPUS = 40;
const ROW = 26;

/** Sizes of a timeline with tracks, where text is `textScale` times as large as usual. */
export function trackSizes(textScale: number): Sizes {
  return { ruler: RULER * textScale, all: ALL_CPUS * textScale, row: ROW * textScale };
}

/** All CPUs alone, over all of the height that the ruler leaves. */
export function aloneSizes(height: number, ruler: number): Sizes {
  return { ruler, all: Math.max(0, height - ruler), row: 0 };
}

/** The track of all CPUs, which is always in sight, and of the others those that are. */
export function placedTracks(scene: Scene): PlacedTrack[] {
  const { sizes, rows, scrollTop, height } = scene;
  const placed: PlacedTrack[] = [{ row: ALL_ROW, track: 0, top: sizes.ruler, height: sizes.all }];
  if (sizes.row > 0) {
    const top = sizes.ruler + sizes.all;
    const first = Math.max(0, Math.floor(scrollTop / sizes.row));
    const past = Math.min(rows.length, Math.ceil((scrollTop + height - top) / sizes.row));
    for (let row = first; row < past; row++) {
      placed.push({ row, track: rows[row] ?? null, top: top + row * sizes.row - scrollTop, height: sizes.row });
    }
  }
  return placed;
}

/** The row at a height; null on the ruler and below the last row. */
export function rowAt(scene: Scene, y: number): number | null {
  // All CPUs come first: they lie over the rows that scroll.
  return placedTracks(scene).find(({ top, height }) => y >= top && y < top + height)?.row ?? null;
}

/** Sum of one track in the bin at a time, and the bin's span; null where the answer says nothing of it. */
export function binAt(answer: Timeline, track: number, time: number): { weight: number; span: TimeSpan } | null {
  const { start, end, bins, kinds, weights } = answer;
  const bin = Math.floor(((time - start) / (end - start)) * bins);
  if (bin < 0 || bin >= bins) {
    return null;
  }
  const from = (track * bins + bin) * kinds;
  const weight = weights.subarray(from, from + kinds).reduce((sum, each) => sum + each, 0);
  const length = (end - start) / bins;
  return { weight, span: { start: start + bin * length, end: start + (bin + 1) * length } };
}
