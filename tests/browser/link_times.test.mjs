// What a link knows of times, in the real page: every sample, a timeline in bins, or nothing; and what is said instead.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { Parts } from "./recording.mjs";
import { afterScenes, beforeScenes, eventually, scene } from "./scene.mjs";
import { QUERY, Tab, axe } from "./tab.mjs";

const parts = new Parts();
const NO_SINGLE_SAMPLES = /^This link has no individual samples\./;
let host;
let recording;

beforeScenes(async () => {
  const program = parts.compilePhases();
  recording = parts.record("phases.perf.data", ["-F", "4999"], [program, "300", "200", "300", "300"]);
  host = await parts.host();
});

afterScenes(() => parts.end());

/** The recording's own tab, and one with a link of it. */
async function share(most, times) {
  const tab = await Tab.open(host);
  await tab.drop(recording);
  await tab.opened();
  const budget = await most(tab);
  const { payload, fidelity } = await tab.ask("share", { budget, base: "", options: { times } });
  const link = await Tab.open(`${host}#${payload}`, { initPath: axe });
  await link.opened();
  return { tab, link, fidelity };
}

/** As many characters as a chat takes, or fewer where the machine was so busy that all samples would have room in them. */
async function tooFewForSamples(tab) {
  const privacy = { files: "left-out", addresses: "left-out" };
  const { characters } = await tab.ask("share", { budget: 65_536, base: "", options: { times: "samples", privacy } });
  return Math.min(2_000, characters - 1);
}

const timelineOf = async (tab, by, bins) => {
  const { time } = await tab.ask("info");
  const end = time.end - time.start + 1;
  return tab.ask("timeline", { query: QUERY, request: { by, sort: "weight", open: [], start: 0, end, bins } });
};

/** Drags over the middle of the timeline. */
async function dragRange({ page }) {
  const { x, y, width, height } = await page.locator(".timeline-plot").boundingBox();
  await page.mouse.move(x + width * 0.25, y + height / 2);
  await page.mouse.down();
  await page.mouse.move(x + width * 0.5, y + height / 2, { steps: 4 });
  await page.mouse.up();
}

describe("times of a link", () => {
  scene("a24 with every sample, a link answers as the recording does", async () => {
    const { tab, link, fidelity } = await share(() => 2_000_000, "samples");
    assert.equal(fidelity.times, "samples");
    for (const by of ["process", "thread", "cpu"]) {
      assert.deepEqual(await timelineOf(link, by, 50), await timelineOf(tab, by, 50), by);
    }
    const heatMap = { query: QUERY, request: { period: 1e9, rows: 50, start: 0, end: 0 } };
    assert.deepEqual((await link.ask("heatMap", heatMap)).samples, (await tab.ask("heatMap", heatMap)).samples);
    for (const each of [tab, link]) {
      await dragRange(each);
      await each.page
        .locator(".context-bar")
        .getByText(/\d s to \d/)
        .first()
        .waitFor();
      await each.settled();
    }
    await eventually(async () => {
      assert.equal(await link.page.locator(".showing").innerText(), await tab.page.locator(".showing").innerText());
    });
    await link.pictures("link-samples");
    await tab.close();
    await link.close();
  });

  scene("a24 a link for a chat has a timeline, and says why there are no ranges", async () => {
    const { tab, link, fidelity } = await share(tooFewForSamples, "samples");
    assert.ok(["processes", "threads"].includes(fidelity.times), fidelity.times);
    const { page } = link;
    const [event] = (await link.ask("info")).events;
    const { tracks, weights, bins, kinds } = await timelineOf(link, "process", 200);
    const drawn = weights.slice(0, bins * kinds).reduce((sum, each) => sum + each, 0);
    assert.ok(Math.abs(drawn / event.weight - 1) < 1e-3, `${drawn} of ${event.weight} is drawn`);
    assert.equal(tracks[0].weight, event.weight);
    await page.getByRole("region", { name: "Timeline" }).waitFor();

    await dragRange(link);
    await page.getByText(NO_SINGLE_SAMPLES).first().waitFor();
    await link.settled();
    assert.doesNotMatch(await page.locator(".context-bar").innerText(), /\d s to \d/);
    assert.equal(await page.getByRole("slider", { name: /of the range$/ }).count(), 0, "edges of no range");
    await page.getByRole("button", { name: "Timeline options" }).click();
    assert.equal(await page.locator(".timeline-menu").getByRole("button", { name: "CPU", exact: true }).count(), 0);
    await page.keyboard.press("Escape");
    assert.deepEqual(await link.findings(), []);
    await link.pictures("link-bins");

    // Bins have no calls: what steps take away is still in the timeline, and that is said.
    const unfiltered = page.locator(".timeline-all").getByText("partly filtered");
    assert.equal(await unfiltered.count(), 0);
    await link.tree().focus();
    for (const key of ["ArrowDown", "ArrowDown", "ArrowDown", "D"]) await page.keyboard.press(key);
    await unfiltered.waitFor();
    await page.keyboard.press("Control+z");
    await unfiltered.waitFor({ state: "detached" });

    for (const view of [/Heat map/, /Time order/]) {
      await link.view(view);
      await page.locator(".view-empty").getByText(NO_SINGLE_SAMPLES).waitFor();
    }
    assert.deepEqual(await link.findings(), []);
    await tab.close();
    await link.close();
  });

  scene(
    "a24 a link without times has no timeline",
    async () => {
      const { tab, link, fidelity } = await share(() => 20_000, "none");
      assert.equal(fidelity.times, "none");
      assert.equal(await link.page.getByRole("region", { name: "Timeline" }).count(), 0);
      await tab.close();
      await link.close();
    },
    { tier: "all" },
  );
});
