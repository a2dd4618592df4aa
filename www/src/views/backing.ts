// Canvases in device pixels: sharp at every ratio, on every screen.

/** Device pixels that an element covers. */
export function deviceSize(entry: ResizeObserverEntry): { width: number; height: number } {
  const rounded = {
    width: Math.round(entry.contentRect.width * devicePixelRatio),
    height: Math.round(entry.contentRect.height * devicePixelRatio),
  };
  const exact = entry.devicePixelContentBoxSize?.[0];
  // Chromium that emulates another pixel ratio (developer tools, tests) answers in CSS pixels here.
  return exact && Math.abs(exact.inlineSize - rounded.width) <= 1
    ? { width: exact.inlineSize, height: exact.blockSize }
    : rounded;
}

/** Gives a canvas its size in device pixels; only a change costs anything. */
export function fitBacking(canvas: HTMLCanvasElement, size: { width: number; height: number }): void {
  if (canvas.width !== size.width || canvas.height !== size.height) {
    canvas.width = size.width;
    canvas.height = size.height;
  }
}
