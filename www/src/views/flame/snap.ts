// Edges on the device pixel grid: one rule for painting, hovering and
// selecting, so that outlines lie exactly on boxes at every pixel ratio.

/** The device pixel edge nearest to a position given in CSS pixels. */
export function snap(cssPx: number, ratio: number): number {
  return Math.floor(cssPx * ratio + 0.5);
}

/** One CSS pixel in whole device pixels, at least one. */
export function hairline(ratio: number): number {
  return Math.max(1, Math.round(ratio));
}

/**
 * Painted width in device pixels between two snapped edges: the gap is cut off
 * the right. A box that spans any pixel at all keeps one; 0 means "not drawn".
 */
export function widthWithGap(left: number, right: number, gap: number): number {
  return right <= left ? 0 : Math.max(1, right - left - gap);
}
