// A large recording that comes slowly: what has been read of it is shown, can be used, and grows.
import assert from "node:assert/strict";
import { createServer, request } from "node:http";
import { Parts } from "./recording.mjs";
import { afterScenes, beforeScenes, eventually, scene } from "./scene.mjs";
import { numbers, writeLibrary, writeRecording } from "./synthetic.mjs";
import { Tab } from "./tab.mjs";

const SAMPLES = 120_000;
const MB = 1_000_000;
/** A sample with its 40 addresses takes 64 bytes more than these. */
const DEPTH = 40;
const SAMPLE_BYTES = 64 + 8 * DEPTH;
/** Behind a call, in functions of 16 bytes. */
const RETURN = 1 / 16;
const NAMES = ["anchor", "buoy", "cable", "davit", "ensign", "fender", "galley", "hawser"];

const parts = new Parts();
let recording;
let small;

beforeScenes(() => {
  const below = numbers();
  const code = writeLibrary(parts, "convoy", NAMES);
  const task = { pid: 7, tid: 7, name: "convoy" };
  // `anchor` is in each sample, and in the first half of them it calls `buoy`.
  const way = (index) => [
    0 + RETURN,
    (index < SAMPLES / 2 ? 1 : 2) + RETURN,
    ...Array.from({ length: DEPTH - 2 }, (_, at) => (at % 2 === 0 ? 3 + below(2) : 5) + RETURN),
  ];
  function* samples(count) {
    for (let index = 0; index < count; index++) {
      // The last quarter is on another CPU.
      const cpu = index < (3 * SAMPLES) / 4 ? 0 : 1;
      yield { task, time: 1000 + index * 1000, cpu, weight: 1, way: way(index) };
    }
  }
  recording = parts.path("convoy.perf.data");
  writeRecording(recording, code, [task], samples(SAMPLES));
  small = parts.path("small.perf.data");
  writeRecording(small, code, [task], samples(100));
});

/** Ends each line that was opened, also that of a scene that failed. */
const ends = [];

afterScenes(async () => {
  ends.forEach((end) => end());
  await parts.end();
});

/**
 * `perftab view` at the other end of a slow line: 24 MB of the recording come in a few seconds, and the rest when `goOn` is
 * called.
 */
async function slowly(file) {
  const view = new URL(await parts.view(file));
  let goOn;
  const isToGoOn = new Promise((done) => (goOn = done));
  const server = createServer((asked, answer) => {
    const headers = { ...asked.headers, host: view.host };
    if (headers.origin) headers.origin = view.origin;
    const passed = request(`${view.origin}${asked.url}`, { method: asked.method, headers }, async (reply) => {
      answer.writeHead(reply.statusCode, reply.headers);
      const size = Number(reply.headers["content-length"] ?? 0);
      let sent = 0;
      try {
        for await (const block of reply) {
          answer.write(block);
          sent += block.length;
          if (size > 40 * MB && sent < 24 * MB) await new Promise((done) => setTimeout(done, (3000 * block.length) / (24 * MB)));
          else if (size > 40 * MB) await isToGoOn;
        }
        answer.end();
      } catch {
        // The page wanted no more.
      }
    });
    asked.pipe(passed);
    passed.on("error", () => answer.destroy());
    answer.on("close", () => passed.destroy());
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  ends.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return { address: `http://127.0.0.1:${server.address().port}${view.pathname}${view.search}`, goOn };
}

const soFar = (tab) => tab.page.locator(".so-far");

/** How many samples the page says that it shows. */
const shownSamples = async (tab) =>
  Number(/of ([\d,]+) samples/.exec(await tab.page.locator(".showing").innerText())[1].replaceAll(",", ""));

scene("what has been read of a large recording is shown, can be used, and grows to the whole", async () => {
  const line = await slowly(recording);
  const tab = await Tab.open(`${line.address}#s2&unnamed=each-address`);
  await soFar(tab)
    .getByText(/^So far 4\d %$|^So far 5\d %$/)
    .waitFor();
  await tab.page.waitForFunction(() => performance.getEntriesByName("perftab:flame-graph").length > 0);
  const first = await shownSamples(tab);
  assert.ok(first > (15 * MB) / SAMPLE_BYTES && first <= (25 * MB) / SAMPLE_BYTES, `${first} samples`);
  await tab.pictures("growing-so-far");

  // The second call below the root: a call without a name so far, which is selected and zoomed into.
  await tab.tree().focus();
  for (const key of ["ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown"]) await tab.page.keyboard.press(key);
  const selected = tab.page.locator('[role="treeitem"][aria-selected="true"]');
  await eventually(async () => assert.match(await selected.getAttribute("aria-label"), /convoy\.so/));
  await tab.page.keyboard.press("Enter");
  const cursor = tab.page.getByRole("slider", { name: "Time cursor" });
  const timeInSight = async () => [await cursor.getAttribute("aria-valuemin"), await cursor.getAttribute("aria-valuemax")];
  const allSoFar = await timeInSight();
  await cursor.press("w");
  await eventually(async () => assert.notDeepEqual(await timeInSight(), allSoFar));
  const zoomed = await timeInSight();
  line.goOn();
  await soFar(tab).waitFor({ state: "detached" });
  await eventually(async () => assert.equal(await shownSamples(tab), SAMPLES));
  await tab.page.getByRole("button", { name: "CPUs all 2" }).waitFor();
  assert.deepEqual(await timeInSight(), zoomed, "the time that was zoomed into stays");
  // It is named now, and has the samples that came since.
  await eventually(async () => assert.match(await selected.getAttribute("aria-label"), /^buoy, .*60,000 samples$/));
  await tab.close();
});

scene(
  "cancelling keeps what has been read, says so, and names it",
  async () => {
    const line = await slowly(recording);
    const tab = await Tab.open(line.address);
    await soFar(tab).waitFor();
    const part = tab.page.locator(".banner").getByText("have been read; the rest is not shown.");
    assert.equal(await part.count(), 0);
    await tab.page.getByRole("button", { name: "Cancel" }).click();
    await soFar(tab).waitFor({ state: "detached" });
    await part.getByText(/^2\d of 46 MB/).waitFor();
    await tab.status("convoy.so", "matched");
    const kept = await shownSamples(tab);
    assert.ok(kept > (15 * MB) / SAMPLE_BYTES && kept <= (25 * MB) / SAMPLE_BYTES, `${kept} samples`);
    await tab.pictures("growing-cancelled");
    await tab.close();
  },
  { tier: "all" },
);

scene(
  "another recording takes the place of one that is still being read",
  async () => {
    const line = await slowly(recording);
    const tab = await Tab.open(line.address);
    await soFar(tab).waitFor();
    await tab.drop(small);
    await soFar(tab).waitFor({ state: "detached" });
    await eventually(async () => assert.equal(await shownSamples(tab), 100));
    assert.match(await tab.page.locator(".file-name").innerText(), /small/);
    assert.equal(await tab.page.locator(".banner").getByText("have been read").count(), 0);
    await tab.close();
  },
  { tier: "all" },
);
