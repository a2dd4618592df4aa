// docs/viewer.md says of each point what holds and which tests show it: neither may be without the other.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

const root = new URL("../../", import.meta.url);

/** Files with tests of the page, by the name that the table has for them: unit tests and those in a browser may share one. */
function testFiles() {
  const files = new Map();
  for (const [folder, ending] of [["tests/browser/", ".test.mjs"], ["www/test/", ".test.ts"]]) {
    for (const name of readdirSync(new URL(folder, root)).filter((name) => name.endsWith(ending))) {
      const short = name.slice(0, -ending.length);
      files.set(short, (files.get(short) ?? "") + readFileSync(new URL(folder + name, root), "utf8"));
    }
  }
  return files;
}

/** Numbers of points at the beginning of the titles in a file. */
const pointsIn = (text) => new Set([...text.matchAll(/\b(?:scene|test)\(\s*["`](a\d\d) /g)].map(([, point]) => point));

const table = readFileSync(new URL("docs/viewer.md", root), "utf8");
const rows = [...table.matchAll(/^\| (a\d\d) \| .+ \| (.+) \|$/gm)].map(([, point, shown]) => ({ point, shown }));

test("the table has all points, in order", () => {
  const all = Array.from({ length: 24 }, (_, index) => `a${String(index + 1).padStart(2, "0")}`);
  assert.deepEqual(rows.map(({ point }) => point), all);
});

test("each point has a test in every file that the table names for it, and in no other", () => {
  const found = new Map([...testFiles()].map(([name, text]) => [name, pointsIn(text)]));
  for (const { point, shown } of rows) {
    const named = shown.startsWith("waits for") ? [] : [...shown.matchAll(/`(\w+)`/g)].map(([, name]) => name);
    const tested = [...found].filter(([, points]) => points.has(point)).map(([name]) => name);
    assert.deepEqual(tested.sort(), named.sort(), point);
  }
});

test("no test is of a point that there is not", () => {
  const known = new Set(rows.map(({ point }) => point));
  for (const [name, text] of testFiles()) {
    for (const point of pointsIn(text)) assert.ok(known.has(point), `${point} in ${name}`);
  }
});
