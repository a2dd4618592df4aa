// docs/snapshot-v1.md suffices for a reader: one that was written from it finds in the links that are kept what stands
// beside them, in either form.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { callsOf, placesOf, streamsOf } from "./link_reader.mjs";

const folder = new URL("../link_vectors/", import.meta.url);

for (const name of readdirSync(folder).filter((name) => /^v1-(sums|folded|deflated|heat|texts)\.txt$/.test(name))) {
  test(`links: a reader made from the document finds the calls of ${name}`, () => {
    const [payload, ...lines] = readFileSync(new URL(name, folder), "utf8").trimEnd().split("\n");
    const streams = streamsOf(payload);
    const event = lines.findIndex((line) => line.startsWith("Event "));
    const expected = lines.slice(event + 1);
    const found = callsOf(streams);
    assert.deepEqual(found.filter((line) => !/ 0 0$/.test(line)).sort(), expected.filter((line) => !/ 0 0$/.test(line)).sort());
    assert.equal(found.length, expected.length);
    const places = lines.filter((line) => line.startsWith("place "));
    assert.deepEqual(
      placesOf(streams)
        .map((place) => `place ${place}`)
        .sort(),
      places,
    );
    assert.equal(places.length > 0, /heat|texts/.test(name));
    assert.equal(
      places.some((place) => place.includes("\t")),
      name === "v1-texts.txt",
    );
    const [, kept] = /kept_nodes: (\d+)/.exec(lines[0]);
    assert.equal(streams[0][7], BigInt(kept));
  });
}
