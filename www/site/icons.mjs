// The icon of an installed page, drawn from one list: a small flame graph whose last frame has no name yet.
//
// All edges lie on a grid of 16, so that 192 and 512 pixels need no smoothing, and everything but the ground lies in the
// middle 80 %, which a system that cuts icons round leaves standing.
import { deflateSync } from "node:zlib";

const GRID = 16;

/** Left, top, width, height, colour. */
const SHAPES = [
  [0, 0, 16, 16, "#3345C2"],
  [3, 4, 10, 2, "#F8B760"],
  [3, 7, 7, 2, "#90B5D9"],
  [11, 7, 2, 2, "#DADDE2"],
  [3, 10, 4, 2, "#E9868D"],
];

export function svg() {
  const rects = SHAPES.map(
    ([x, y, width, height, fill]) => `<rect x="${x}" y="${y}" width="${width}" height="${height}" fill="${fill}"/>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${GRID} ${GRID}">${rects.join("")}</svg>\n`;
}

/** A PNG (its specification, third edition) of 8 bits a colour, no filter. */
export function png(size) {
  const scale = size / GRID;
  if (!Number.isInteger(scale)) throw new Error(`${size} is no multiple of ${GRID}`);
  const stride = 1 + size * 3;
  const pixels = Buffer.alloc(stride * size);
  for (const [x, y, width, height, fill] of SHAPES) {
    const colour = Buffer.from(fill.slice(1), "hex");
    for (let row = y * scale; row < (y + height) * scale; row++) {
      for (let column = x * scale; column < (x + width) * scale; column++) {
        colour.copy(pixels, row * stride + 1 + column * 3);
      }
    }
  }
  const head = Buffer.alloc(13);
  head.writeUInt32BE(size, 0);
  head.writeUInt32BE(size, 4);
  head.set([8, 2], 8); // 8 bits, RGB
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([
    signature,
    chunk("IHDR", head),
    chunk("IDAT", deflateSync(pixels, { level: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const whole = Buffer.alloc(body.length + 8);
  whole.writeUInt32BE(data.length, 0);
  body.copy(whole, 4);
  whole.writeUInt32BE(crc(body), body.length + 4);
  return whole;
}

/** CRC-32 as PNG wants it. (`zlib.crc32` came with Node 22.) */
function crc(bytes) {
  let sum = 0xffffffff;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return (sum ^ 0xffffffff) >>> 0;
}
