// Colour arithmetic for tests: WCAG 2 contrast, OKLab, and how colours look to colour-blind eyes.

export type Rgb = readonly [number, number, number];

/** "#rrggbb" to linear light, 0 to 1. */
export function linear(hex: string): Rgb {
  const channel = (at: number): number => {
    const value = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return [channel(1), channel(3), channel(5)];
}

/** `black` (0 to 1) of black over the colour, in sRGB as a canvas mixes it. */
export function darken(hex: string, black: number): string {
  const channel = (at: number): string =>
    Math.round(Number.parseInt(hex.slice(at, at + 2), 16) * (1 - black))
      .toString(16)
      .padStart(2, "0");
  return `#${channel(1)}${channel(3)}${channel(5)}`;
}

function luminance([red, green, blue]: Rgb): number {
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** WCAG 2 contrast ratio, 1 to 21. */
export function contrast(a: string, b: string): number {
  const [light = 0, dark = 0] = [luminance(linear(a)), luminance(linear(b))].sort((x, y) => y - x);
  return (light + 0.05) / (dark + 0.05);
}

type Matrix = readonly [Rgb, Rgb, Rgb];

function apply(matrix: Matrix, [a, b, c]: Rgb): Rgb {
  const row = ([x, y, z]: Rgb): number => x * a + y * b + z * c;
  return [row(matrix[0]), row(matrix[1]), row(matrix[2])];
}

/** Machado, Oliveira, Fernandes 2009, severity 1, on linear light. */
export const VISION: Record<"normal" | "protan" | "deutan" | "tritan", Matrix> = {
  normal: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protan: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deutan: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritan: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

/** OKLab (Ottosson 2020) of linear light. */
function oklab(rgb: Rgb): Rgb {
  const lms = apply(
    [
      [0.4122214708, 0.5363325363, 0.0514459929],
      [0.2119034982, 0.6806995451, 0.1073969566],
      [0.0883024619, 0.2817188376, 0.6299787005],
    ],
    rgb,
  );
  const roots: Rgb = [Math.cbrt(lms[0]), Math.cbrt(lms[1]), Math.cbrt(lms[2])];
  return apply(
    [
      [0.2104542553, 0.793617785, -0.0040720468],
      [1.9779984951, -2.428592205, 0.4505937099],
      [0.0259040371, 0.7827717662, -0.808675766],
    ],
    roots,
  );
}

/** OKLab distance times 100 as `vision` sees both. */
export function distance(a: string, b: string, vision: keyof typeof VISION): number {
  const [x, y] = [a, b].map((hex) => {
    const [red, green, blue] = apply(VISION[vision], linear(hex));
    const clamp = (value: number): number => Math.min(1, Math.max(0, value));
    return oklab([clamp(red), clamp(green), clamp(blue)]);
  }) as [Rgb, Rgb];
  return 100 * Math.hypot(x[0] - y[0], x[1] - y[1], x[2] - y[2]);
}
