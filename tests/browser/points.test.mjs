// docs/viewer.md says of each point what holds and which tests show it: neither may be without the other, nor may a point be
// without a scene before each commit.
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync, readdirSync } from "node:fs";
import { basename } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";

const root = new URL("../../", import.meta.url);

/** The scenes of every file of this folder, this one apart: `[{ file, name, tier }]`. */
async function listScenes() {
  const folders = ["tests/browser/", "tests/browser/timing/"].map((folder) => fileURLToPath(new URL(folder, root)));
  const files = folders.flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => name.endsWith(".test.mjs"))
      .map((name) => folder + name),
  );
  const workerData = files.filter((file) => file !== fileURLToPath(import.meta.url));
  // Its own runner of tests, which has none to run, prints the names of suites.
  const worker = new Worker(new URL("list_scenes.mjs", import.meta.url), { workerData, stdout: true });
  const [scenes] = await once(worker, "message");
  await worker.terminate();
  return scenes;
}

/** Unit tests of the page, as far as they name a point: those are in both tiers. */
function listUnits() {
  const folder = new URL("www/test/", root);
  return readdirSync(folder)
    .filter((name) => name.endsWith(".test.ts"))
    .flatMap((file) =>
      [...readFileSync(new URL(file, folder), "utf8").matchAll(/\btest\(\s*["`](a\d\d .*?)["`]/g)].map(([, name]) => ({
        file,
        name,
      })),
    );
}

const scenes = await listScenes();
const tests = [...scenes, ...listUnits()];
const pointOf = ({ name }) => /^a\d\d(?= )/.exec(name)?.[0];
const shortName = ({ file }) => basename(file).replace(/\.test\.m?[jt]s$/, "");

const table = readFileSync(new URL("docs/viewer.md", root), "utf8");
const rows = [...table.matchAll(/^\| (a\d\d) \| .+ \| (.+) \|$/gm)].map(([, point, shown]) => ({ point, shown }));

test("the table has all points, in order", () => {
  const all = Array.from({ length: 45 }, (_, index) => `a${String(index + 1).padStart(2, "0")}`);
  assert.deepEqual(
    rows.map(({ point }) => point),
    all,
  );
});

test("each point has a test in every file that the table names for it, and in no other", () => {
  for (const { point, shown } of rows) {
    const named = [...shown.matchAll(/`(\w+)`/g)].map(([, name]) => name);
    const tested = new Set(tests.filter((each) => pointOf(each) === point).map(shortName));
    assert.deepEqual([...tested].sort(), named.sort(), point);
  }
});

test("each point has a scene in the fast tier", () => {
  const fast = new Set(scenes.filter(({ tier }) => tier === "fast").map(pointOf));
  assert.deepEqual(
    rows.map(({ point }) => point).filter((point) => !fast.has(point)),
    [],
  );
});

test("no test is of a point that there is not", () => {
  const known = new Set(rows.map(({ point }) => point));
  assert.deepEqual(
    tests.filter((each) => pointOf(each) !== undefined && !known.has(pointOf(each))),
    [],
  );
});
