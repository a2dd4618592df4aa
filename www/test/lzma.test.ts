// The page's LZMA against what xz packed.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Unpacking, unpackLzma } from "../src/worker/lzma.ts";

/** A text of runs and of repeats, near and far. */
function text(): string {
  let state = 1;
  const random = (below: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor(state / 65536) % below;
  };
  const pieces: string[] = [];
  for (let i = 0; i < 400; i++) {
    const letter = String.fromCharCode(97 + random(16));
    pieces.push(letter.repeat(1 + random(3) * random(40)));
    if (random(8) === 0 && i > 20) {
      const from = random(i - 10);
      pieces.push(...pieces.slice(from, from + 6));
    }
  }
  return pieces.join("");
}

// What `xz --format=lzma --lzma1=preset=9e,lc=4,pb=0` made of it. xz leaves the size in the header open; here it is told.
const PACKED = Buffer.from(
  "BAAAAASMMgAAAAAAAAA07SPFaKtz0ZSVxXV6xxsnOdnOQvIV0ZOXEeHQz4ROLEGIsdvF3RizLT/92NN3TvGZIsnRoLwhcBNzi9BlZLeSqyTGO5" +
    "g/2/dtRJkr8SRYDshFrylDmOYdxZaRm1Oi6xy63+MtFxHz+wVbLhzY8icxMIwMX9e812JU8kOOBn9fqXztN0crWnraW9X97cR0H4PWiGMPHMjy" +
    "3hf1MeA+yNAVR5sc2mrF2vQ5qeQD0mI0P3rHVcxyq+reiW+E7TF8IFVp1En6HMwnDEokCrzNT7plR4ik+X9PX7HhgxXYqrS1diQPgZKVPwBVv+" +
    "iL9ebSyQuKGHFpd3ElDyAKtloIqIGwy2wA+XzfQp0ED7Daggw2dl7TxMXPkboKwNgU4DniSVDiOGsYUZvcHfTyFuv4e9DPLut4YOBoxpy7/r3o" +
    "eARXoM4t7TNhPL1tA/c/NYJEEW6S4fNDsyLdBfkqge+HpJv+rlpQe1RSxHPbJEGy+lQK384G23f1kiwuTHCo/wHUg4Ml617OgYzOSOi1AKAsve" +
    "26I7s92QW9lGEwTfhAAUZLgw5E+3SfKHtG7jujKJ+17X7ijp6Pd/Gr1T21+rLb0/mcedqzfaKdlX5IhUhAkDBvFhF1tvT1yAEjy3sWL8NrxEoA" +
    "PQ5ItfAUvTChI/bIkdKh3s29NDLf/tSCq1Zki9rMAuQ/9QPg/awBHMXqH4xfWPYpHoFUYOu3cOZzM+SE54E0w3Z1BV33nGqufvtte1F+YIpjMR" +
    "KY2jRPMcoOEwET5inELpDGtdH5orxt6wcCbYn1MG7jv9YHfF7cmGztOEVicj24kpQbjzUIv2nHN4dMP4z3SVCQi0O7cv39qseCxk8Kmu0B9abN" +
    "ONXuOlovAy9v8wN79tnBESkNIksaeOEZ//8TtpgA",
  "base64",
);

test("what xz packed is unpacked", () => {
  assert.equal(new TextDecoder().decode(unpackLzma(PACKED)), text());
});

test("parts of any size make the same", () => {
  for (const count of [1, 7, 100]) {
    const unpacking = new Unpacking(PACKED);
    while (unpacking.isPart()) {
      unpacking.next(count);
    }
    assert.equal(new TextDecoder().decode(unpacking.whole()), text(), `${count} bytes at a time`);
  }
});

test("of damaged bytes comes an error, or something else of the size that is told", () => {
  for (let place = 0; place < PACKED.length; place++) {
    const damaged = Uint8Array.from(PACKED);
    damaged[place] = (damaged[place] as number) ^ 0x41;
    const size = new DataView(damaged.buffer).getUint32(5, true);
    try {
      assert.equal(unpackLzma(damaged).length, size);
    } catch (error) {
      assert.match(String(error), /^Error: LZMA/);
    }
  }
});

test("what is cut short is an error", () => {
  for (let length = 0; length < PACKED.length - 10; length++) {
    assert.throws(() => unpackLzma(PACKED.subarray(0, length)), /LZMA/, `${length} bytes`);
  }
});
