// Canvases in device pixels: sharp at every ratio, on every screen.

interface Size {
  width: number;
  height: number;
}

/** How large a canvas is, in CSS pixels. */
export interface CanvasSize extends Size {
  /** In device pixels. */
  device: Size;
  /** Device pixels in a CSS pixel. */
  ratio: number;
}

/** Of a canvas that was not measured yet. */
export const NO_SIZE: CanvasSize = { width: 0, height: 0, device: { width: 0, height: 0 }, ratio: 1 };

/** Says how large a canvas is, soon and whenever that changes; the answer ends it. */
export function followSize(canvas: HTMLCanvasElement, resized: (size: CanvasSize) => void): () => void {
  const resizes = new ResizeObserver((entries) => {
    const entry = entries.at(-1);
    if (entry) {
      resized(sizeOf(entry));
    }
  });
  try {
    resizes.observe(canvas, { box: "device-pixel-content-box" });
  } catch {
    resizes.observe(canvas); // Safari knows no device pixel box.
  }
  return () => resizes.disconnect();
}

function sizeOf(entry: ResizeObserverEntry): CanvasSize {
  const { width, height } = entry.contentRect;
  const device = deviceSize(entry);
  return { width, height, device, ratio: width > 0 ? device.width / width : devicePixelRatio };
}

function deviceSize(entry: ResizeObserverEntry): Size {
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
export function fitBacking(canvas: HTMLCanvasElement, { device }: CanvasSize): void {
  if (canvas.width !== device.width || canvas.height !== device.height) {
    canvas.width = device.width;
    canvas.height = device.height;
  }
}
