// Time in the real page, over a recording whose phases are known: the program says when each began and ended, and perf
// says when each sample was taken.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe } from "node:test";
import { MOST_MS_OF_A_TASK } from "./limits.mjs";
import { Parts, isInstalled, run } from "./recording.mjs";
import { afterScenes, beforeScenes, scene } from "./scene.mjs";
import { QUERY, Tab, axe, longestTask } from "./tab.mjs";

/** Milliseconds of the phases: work, sleep, work of two threads, work of a child. */
const LENGTHS = [600, 400, 600, 800];
const S = 1e9;

const parts = new Parts();
let program;
let recording;
let host;
/** Of every sample: when, in nanoseconds since the first, and of which thread. */
let samples;
/** Of every phase: when, in the same. */
let phases;

beforeScenes(async () => {
  program = parts.compilePhases();
  const said = parts.path("phases.txt");
  recording = parts.record("phases.perf.data", ["-F", "1999"], ["sh", "-c", `${program} ${LENGTHS.join(" ")} > ${said}`]);
  const lines = run("perf", ["script", "--ns", "-i", recording, "-F", "tid,time"]);
  const times = [...lines.matchAll(/^\s*(\d+)\s+(\d+)\.(\d{9}):\s*$/gm)].map(([, tid, s, ns]) => [
    Number(tid),
    BigInt(s) * 1_000_000_000n + BigInt(ns),
  ]);
  const first = times.reduce((least, [, time]) => (time < least ? time : least), times[0][1]);
  samples = times.map(([tid, time]) => ({ tid, time: Number(time - first) }));
  phases = Object.fromEntries(
    readFileSync(said, "utf8")
      .trim()
      .split("\n")
      .map((line) => {
        const [name, began, ended] = line.split(" ");
        return [name, { start: Number(BigInt(began) - first), end: Number(BigInt(ended) - first) }];
      }),
  );
  host = await parts.host();
});

afterScenes(() => parts.end());

/** As perf counts them. */
const countIn = (start, end) => samples.filter(({ time }) => time >= start && time < end).length;
const lastTime = () => samples.reduce((most, { time }) => Math.max(most, time), 0);

async function open(options) {
  const tab = await Tab.open(host, options);
  await tab.drop(recording);
  await tab.opened();
  await tab.page.waitForFunction(() => performance.getEntriesByName("perftab:timeline").length > 0);
  return tab;
}

/** Where a time lies on the plot of the timeline; 8 px at the right are free. */
async function xOf(tab, time) {
  const { x, width } = await tab.page.locator(".timeline-plot").boundingBox();
  return x + ((width - 8) * time) / (lastTime() + 1);
}

async function drag(tab, from, to, { release = true } = {}) {
  const { y, height } = await tab.page.locator(".timeline-plot").boundingBox();
  const { mouse } = tab.page;
  await mouse.move(await xOf(tab, from), y + height / 2);
  await mouse.down();
  await mouse.move(await xOf(tab, (from + to) / 2), y + height / 2, { steps: 4 });
  await mouse.move(await xOf(tab, to), y + height / 2, { steps: 4 });
  if (release) await mouse.up();
}

/** What the context bar says of the range, and how many samples it says are shown. */
async function chipAndNumbers(tab, words) {
  await tab.page.locator(".context-bar").getByText(words).first().waitFor();
  await tab.settled();
  await tab.settled();
  return tab.page.locator(".showing").innerText();
}

async function removeRange(tab) {
  await tab.page
    .locator(".context-bar")
    .getByRole("button", { name: /[Rr]emove.*(Range|range)/ })
    .first()
    .click();
  await tab.page.waitForFunction(() => !/\d s to \d/.test(document.querySelector(".context-bar").textContent));
}

/** The middle of a cell of the heat map, whose columns are so long. */
async function cellAt(tab, time, period) {
  const place = await tab.page.locator(".heat-content").evaluate((el) => {
    const { x, y } = el.getBoundingClientRect();
    const { ariaColCount, ariaRowCount } = document.querySelector(".heat-mirror");
    // 3 px are free around the cells.
    const width = Number.parseFloat(el.style.width) - 6;
    return { x: x + 3, y: y + 3, columns: Number(ariaColCount), rows: Number(ariaRowCount), width };
  });
  const column = Math.floor(time / period);
  const row = Math.floor(((time - column * period) / period) * place.rows);
  return [place.x + ((column + 0.5) * place.width) / place.columns, place.y + row * 6 + 2];
}

/** What the heat map says that it is. */
async function heatMapIs(tab, words) {
  const grid = tab.page.getByRole("grid", { name: `Heat map: a column is ${words} of it, downwards`, exact: true });
  await grid.waitFor();
  return grid.evaluate(({ ariaColCount, ariaRowCount }) => [Number(ariaColCount), Number(ariaRowCount)]);
}

/** Runs in the page before its own script: notes what is asked of the worker, and how long the answer took. */
function noteCalls() {
  const calls = [];
  window.perftabCalls = calls;
  window.Worker = class extends window.Worker {
    constructor(...args) {
      super(...args);
      this.addEventListener("message", ({ data }) => {
        const call = calls.find(({ id }) => id === data.id);
        if (call && !("progress" in data)) Object.assign(call, { end: performance.now(), samples: data.ok?.rootSamples ?? null });
      });
    }
    postMessage(message, ...rest) {
      if (message.type === "call") calls.push({ id: message.id, method: message.method, begin: performance.now(), end: 0 });
      super.postMessage(message, ...rest);
    }
  };
}

describe("time", () => {
  scene("a13 a range by drag, by keys and by the heat map: the same chip, the same numbers", async () => {
    const tab = await open();
    const [start, end] = [0.5 * S, 1.5 * S];
    const words = "0.500 s to 1.500 s";
    const expected = countIn(start, end);
    assert.ok(expected > 20 && expected < samples.length, `${expected} samples`);

    await drag(tab, start, end);
    const byDrag = await chipAndNumbers(tab, words);
    await tab.pictures("a13-drag");
    await removeRange(tab);

    const cursor = tab.page.getByRole("slider", { name: "Time cursor" });
    await cursor.focus();
    const { keyboard } = tab.page;
    await keyboard.press("Home");
    // How far a step leads depends on how long the program took; every step divides half a second.
    const goTo = async (time) => {
      for (let i = 0; Number(await cursor.getAttribute("aria-valuenow")) < time && i < 500; i++)
        await keyboard.press("ArrowRight");
    };
    await goTo(start);
    await keyboard.down("Shift");
    await goTo(end);
    await keyboard.up("Shift");
    const byKeys = await chipAndNumbers(tab, words);
    await removeRange(tab);

    await tab.view(/Heat map/);
    await tab.page.waitForFunction(() => performance.getEntriesByName("perftab:heat-map").length > 0);
    await tab.page.getByRole("button", { name: "5 ms" }).click();
    await heatMapIs(tab, "100 ms, a cell 5 ms");
    await tab.settled();
    await tab.page.mouse.move(...(await cellAt(tab, start, 0.1 * S)));
    await tab.page.mouse.down();
    await tab.page.mouse.move(...(await cellAt(tab, end - 1, 0.1 * S)), { steps: 5 });
    await tab.page.mouse.up();
    const byHeatMap = await chipAndNumbers(tab, words);
    await tab.pictures("a13-heat-map");
    const head = await tab.page.locator(".heat-head").innerText();

    const showing = new RegExp(
      `^Showing ${expected.toLocaleString("en-US")} of ${samples.length.toLocaleString("en-US")} samples, `,
    );
    assert.match(byDrag, showing, `perf counts ${expected}`);
    assert.equal(byKeys, byDrag);
    assert.equal(byHeatMap, byDrag);
    assert.ok(head.includes(`${expected.toLocaleString("en-US")} samples`), head);
    await tab.page.getByRole("button", { name: "Compare with the rest" }).click();
    await tab.page.getByRole("heading", { name: "Comparing a range with the rest" }).waitFor();
    await tab.page.goBack();
    await tab.page.locator(".heat-head", { hasText: words }).waitFor();
    await tab.close();
  });

  scene("a34 the heat map's columns are as long as suits the time in sight, over the full width", async () => {
    const tab = await open();
    await tab.view(/Heat map/);
    const seconds = lastTime() / S;
    assert.ok(seconds > 1.5 && seconds < 10, `${seconds} s`);
    assert.deepEqual(await heatMapIs(tab, "100 ms, a cell 2 ms"), [Math.ceil(seconds * 10), 50]);
    await tab.settled();
    const width = await tab.page.locator(".heat-map").evaluate((el) => el.getBoundingClientRect().width);
    assert.equal(width, await tab.page.evaluate(() => innerWidth), "no panel is beside it");
    await tab.pictures("a34-heat-map");
    // What is said of a cell is what perf counts in its time.
    const [start, end] = [0.304 * S, 0.306 * S];
    await tab.page.mouse.move(...(await cellAt(tab, start, 0.1 * S)));
    const card = tab.page.locator(".heat-card", { hasText: "0.304 s to 0.306 s" });
    await card.waitFor();
    assert.match(await card.innerText(), new RegExp(`Samples\\s+${countIn(start, end)}\\s`));
    // A range that is gone into is less time, so columns are less of it.
    await tab.page.mouse.move(...(await cellAt(tab, 0.5 * S, 0.1 * S)));
    await tab.page.mouse.down();
    await tab.page.mouse.move(...(await cellAt(tab, 1.5 * S - 1, 0.1 * S)), { steps: 5 });
    await tab.page.mouse.up();
    const grid = tab.page.getByRole("grid", { name: /^Heat map: / });
    await grid.focus();
    await tab.page.keyboard.press("f");
    assert.deepEqual(await heatMapIs(tab, "10 ms, a cell 0.2 ms"), [100, 50]);
    assert.match(await tab.page.locator(".heat-head").innerText(), /^0\.5000 s to 1\.5000 s /);
    await tab.close();
  });

  scene("areas, cells and perf count the same samples at the same times", async () => {
    const tab = await open();
    const end = lastTime() + 1;
    const bins = 20;
    const request = { by: "thread", sort: "weight", open: [], start: 0, end, bins };
    const timeline = await tab.ask("timeline", { query: QUERY, request });
    const { unit } = (await tab.ask("info")).events[0];
    assert.equal(unit, "ns");
    // cpu-clock gives each sample the same weight.
    const all = timeline.weights.reduce((sum, each) => sum + each, 0) / 2;
    const each = all / samples.length;
    // Half of the tracks' weight is that of all CPUs; a sample is drawn over the time since the last one of its
    // thread, as a command is recorded without CPUs.
    const period = all / samples.length;
    const since = new Map();
    const spans = samples.map(({ tid, time }) => {
      const last = since.get(tid) ?? Number.NEGATIVE_INFINITY;
      since.set(tid, time);
      return { tid, end: time, start: Math.max(0, last, time - 2 * period) };
    });
    const within = ({ start, end: last }, from, to) =>
      start === last
        ? Number(start >= from && start < to)
        : Math.max(0, Math.min(last, to) - Math.max(start, from)) / (last - start);
    const threads = [...new Set(samples.map(({ tid }) => tid))];
    for (const tid of threads) {
      const track = timeline.tracks.findIndex((one) => one.tid === tid);
      assert.ok(track > 0, `thread ${tid} has a track`);
      for (let bin = 0; bin < bins; bin++) {
        const from = (track * bins + bin) * timeline.kinds;
        const weight = timeline.weights.slice(from, from + timeline.kinds).reduce((sum, one) => sum + one, 0);
        const [left, right] = [(bin * end) / bins, ((bin + 1) * end) / bins];
        const inBin = spans.reduce((sum, span) => sum + (span.tid === tid ? within(span, left, right) : 0), 0);
        assert.ok(Math.abs(weight / each - inBin) < 0.01, `thread ${tid}, bin ${bin}: ${weight / each} of ${inBin}`);
      }
    }
    for (const period of [1e9, 1e8]) {
      const map = await tab.ask("heatMap", { query: QUERY, request: { period, rows: 50, start: 0, end } });
      const length = period / 50;
      for (let cell = 0; cell < map.samples.length; cell++) {
        assert.equal(map.samples[cell], countIn(cell * length, (cell + 1) * length), `cell ${cell} of ${length} ns`);
      }
    }
    await tab.close();
  });

  scene(
    "what is between two phases of work says that it is empty",
    async () => {
      const tab = await open();
      const { start, end } = phases.sleep;
      // Well within: the kernel goes to sleep and wakes up at its ends.
      await drag(tab, start + 0.1 * S, end - 0.1 * S);
      const words = tab.page.locator(".view-empty");
      await words.getByText(/^No samples from [\d.]+ s to [\d.]+ s\./).waitFor();
      await tab.picture("time-empty-range");
      await tab.close();
    },
    { tier: "all" },
  );

  scene("the graph follows while a range is dragged, and is the exact one afterwards", async (t) => {
    const tab = await open({ init: noteCalls });
    const child = phases.dog_watch;
    const samplesIn = (label) => Number(/([\d,]+) samples/.exec(label)[1].replaceAll(",", ""));
    const answered = () => tab.page.evaluate(() => window.perftabCalls.filter(({ end }) => end > 0));
    await drag(tab, child.start + 0.1 * S, child.end - 0.1 * S, { release: false });
    await tab.page.waitForFunction(() => window.perftabCalls.some(({ method, end }) => method === "rangePreview" && end > 0));
    await tab.settled();
    await tab.picture("time-dragged");
    const previews = (await answered()).filter(({ method }) => method === "rangePreview");
    await tab.page.mouse.up();
    await tab.page
      .locator(".context-bar")
      .getByText(/\d s to \d/)
      .first()
      .waitFor();
    await tab.settled();
    await tab.settled();
    const [, start, end] = /([\d.]+) s to ([\d.]+) s/.exec(await tab.page.locator(".context-bar").innerText());
    const exact = countIn(Number(start) * S, Number(end) * S);
    await tab.tree().focus();
    await tab.page.keyboard.press("Home");
    const labels = () => tab.page.getByRole("treeitem").evaluateAll((all) => all.map((item) => item.ariaLabel));
    assert.equal(samplesIn((await labels())[0]), exact, "as perf counts them");
    assert.ok(!(await labels()).some((label) => label.startsWith("phases,")), "the parent sleeps while the child works");
    const previewed = previews.at(-1).samples;
    assert.ok(Math.abs(previewed - exact) <= exact / 50, `${previewed} were previewed of ${exact}`);
    const times = previews.map(({ begin, end }) => Math.round(end - begin));
    t.diagnostic(`${times.length} previews while dragging, in ${times.join(", ")} ms`);
    await tab.close();
  });

  scene(
    "the zoom into a call stays while a range is dragged, and afterwards",
    async () => {
      const tab = await open();
      const crumbs = () => tab.page.locator(".flame-view .breadcrumb").innerText();
      await tab.tree().focus();
      for (const key of ["ArrowDown", "ArrowDown", "Enter"]) {
        await tab.page.keyboard.press(key);
        await tab.settled();
      }
      const zoomed = await crumbs();
      assert.match(zoomed, /phases/);
      await drag(tab, 0.2 * S, 0.5 * S, { release: false });
      await tab.settled();
      assert.equal(await crumbs(), zoomed);
      await tab.page.mouse.up();
      await tab.page
        .locator(".context-bar")
        .getByText(/\d s to \d/)
        .first()
        .waitFor();
      await tab.settled();
      await tab.settled();
      assert.equal(await crumbs(), zoomed);
      await tab.close();
    },
    { tier: "all" },
  );

  scene(
    "time off the CPU is an event like any other, and its weight is time",
    async (t) => {
      if (!isInstalled("perf")) return t.skip("perf is not installed");
      const none = await open();
      await none.view(/Heat map/);
      const without = none.page.getByRole("button", { name: "Off-CPU" });
      assert.ok(await without.isDisabled());
      assert.equal(
        await without.getAttribute("title"),
        "No context switches were recorded. Record with perf record --off-cpu or --switch-events.",
      );
      await none.close();

      const options = ["-e", "cpu-clock", "-F", "999", "--switch-events"];
      const switches = parts.perf("switches.perf.data", options, [parts.path("phases"), ...LENGTHS.map(String)]);
      const tab = await Tab.open(host);
      await tab.drop(switches);
      await tab.opened();
      await tab.view(/Heat map/);
      await tab.page.getByRole("button", { name: "Off-CPU" }).click();
      await tab.page.locator(".event-chip", { hasText: "offcpu-time" }).waitFor();
      await tab.settled();
      const { derived_events } = await tab.ask("info");
      const waits = derived_events.find(({ name }) => name === "offcpu-time");
      const words = new RegExp(`, ${waits.samples} samples?, [\\d.]+ threads off-CPU on average$`);
      await tab.page.waitForFunction(
        (source) => new RegExp(source).test(document.querySelector(".heat-head").innerText),
        words.source,
      );
      await tab.picture("time-off-cpu-heat-map");
      await tab.view(/Flame graph/);
      await tab.page.locator(".timeline-row").first().waitFor();
      const cursor = tab.page.getByRole("slider", { name: "Time cursor" });
      await cursor.focus();
      await tab.page.keyboard.press("End");
      assert.match(await cursor.getAttribute("aria-valuetext"), /^[\d.]+ s, All CPUs, [\d.]+ (s|ms|µs)$/);
      await tab.picture("time-off-cpu");
      await tab.close();
    },
    { tier: "all" },
  );

  scene(
    "axe finds nothing in the timeline, with a range and opened, and in the heat map",
    async () => {
      const tab = await open({ initPath: axe });
      assert.deepEqual(await tab.findings(), []);
      await drag(tab, 0.5 * S, 1.5 * S);
      await tab.page.locator(".timeline-row[aria-expanded]").first().focus();
      await tab.page.keyboard.press("ArrowRight");
      await tab.page.locator('.timeline-row[aria-level="2"]').first().waitFor();
      assert.deepEqual(await tab.findings(), []);
      await tab.page.getByRole("button", { name: "Timeline options" }).click();
      assert.deepEqual(await tab.findings(), []);
      await tab.page.keyboard.press("Escape");
      await tab.view(/Heat map/);
      await tab.page.waitForFunction(() => performance.getEntriesByName("perftab:heat-map").length > 0);
      assert.deepEqual(await tab.findings(), []);
      await tab.page.setViewportSize({ width: 420, height: 900 });
      assert.deepEqual(await tab.findings(), []);
      await tab.view(/Flame graph/);
      await tab.page.locator(".timeline-phone").waitFor();
      assert.deepEqual(await tab.findings(), []);
      await tab.close();
    },
    { tier: "all" },
  );

  scene("a22 no task is long while ranges are dragged, time is zoomed, and time order and heat map are moved over", async (t) => {
    // Chromium traces all of a browser.
    const tab = await open({ browser: "own" });
    const { browser } = tab.browser;
    await browser.startTracing(tab.page, { categories: ["toplevel"] });
    for (let i = 0; i < 3; i++) await drag(tab, 0.1 * i * S, (1 + 0.3 * i) * S);
    for (const key of ["w", "w", "d", "s", "a", "0"]) await tab.page.keyboard.press(key);
    await tab.view(/Time order/);
    for (let i = 0; i < 20; i++) await tab.page.mouse.move(await xOf(tab, (i / 10) * S), 120);
    await tab.view(/Heat map/);
    await tab.page.waitForFunction(() => performance.getEntriesByName("perftab:heat-map").length > 0);
    for (let i = 0; i < 20; i++) await tab.page.mouse.move(...(await cellAt(tab, (i / 10) * S, 20)));
    await tab.settled();
    const longest = longestTask(await browser.stopTracing());
    t.diagnostic(`the longest took ${longest.toFixed(1)} ms of processor time`);
    assert.ok(longest < MOST_MS_OF_A_TASK, `a task of ${longest} ms`);
    await tab.close();
  });
});

describe("time order", () => {
  /** The thread that was sampled most in a phase. */
  const threadIn = ({ start, end }) => {
    const counts = new Map();
    for (const { tid, time } of samples) if (time >= start && time < end) counts.set(tid, (counts.get(tid) ?? 0) + 1);
    return [...counts].sort(([, a], [, b]) => b - a)[0][0];
  };
  const timesOf = (tid) => samples.filter((sample) => sample.tid === tid).map(({ time }) => time);
  /** The middle of the longest time in a phase in which a thread was sampled without a gap: a busy machine makes some. */
  const busyTime = (tid, { start, end }) => {
    let [longest, from, before] = [[0, 0], null, null];
    for (const time of timesOf(tid).filter((time) => time >= start && time < end)) {
      if (before === null || time - before > 1e6) from = time;
      if (time - from > longest[1] - longest[0]) longest = [from, time];
      before = time;
    }
    return (longest[0] + longest[1]) / 2;
  };
  const cursor = (tab) => tab.page.getByRole("slider", { name: "Time cursor" });
  const inSight = async (tab) =>
    Promise.all(["aria-valuemin", "aria-valuemax"].map(async (each) => Number(await cursor(tab).getAttribute(each))));
  /** Where a time lies in what is in sight, in the row of all CPUs. */
  const placeOf = async (tab, time) => {
    const [[start, end], { x, y, width }] = [await inSight(tab), await tab.page.locator(".timeline-plot").boundingBox()];
    return [x + ((width - 8) * (time - start)) / (end - start), y + 40];
  };
  const openedAt = async (tid) => {
    const tab = await Tab.open(host, { initPath: axe });
    await tab.drop(recording, program);
    await tab.opened();
    await tab.status("phases", "matched");
    await tab.view(/Time order/);
    await choose(tab, tid);
    return tab;
  };
  const choose = async (tab, tid) => {
    await tab.page.getByRole("combobox", { name: "Thread" }).selectOption(String(tid));
    await tab.settled();
  };
  const selected = (tab, words) => tab.page.locator('[role=treeitem][aria-selected="true"]').and(tab.page.getByLabel(words));
  /** All stacks stand where the plot of the timeline does, of which 8 px at the right are free. */
  const assertAligned = async ({ page }) => {
    const plot = await page.locator(".timeline-plot").boundingBox();
    const lanes = await page.locator(".time-lane").all();
    for (const lane of lanes) {
      const { x, width } = await lane.locator("canvas").first().boundingBox();
      assert.deepEqual([x, width], [plot.x, plot.width - 8]);
    }
    return lanes.length;
  };

  scene("a33 shares the scale of the timeline, on which the stack at an instant is shown and clicked", async () => {
    const { first_watch: watch } = phases;
    const tid = threadIn(watch);
    const tab = await openedAt(tid);
    const { page } = tab;
    assert.equal(await assertAligned(tab), 1);
    const time = busyTime(tid, watch);
    const card = page.locator(".instant-card");
    await page.mouse.move(...(await placeOf(tab, (watch.end + phases.second_watch.start) / 2)));
    await card.filter({ hasText: "not sampled here" }).waitFor();
    // Where other programs take most of the time, what is busy is narrow.
    await page.mouse.move(...(await placeOf(tab, time)));
    await page.keyboard.down("Control");
    await page.mouse.wheel(0, -1000);
    await page.keyboard.up("Control");
    await tab.settled();
    const [start, end] = await inSight(tab);
    assert.ok(end - start < lastTime() / 4, `${start} to ${end}`);
    await page.mouse.move(...(await placeOf(tab, time)));
    await card.filter({ hasText: /main\s*first_watch$/ }).waitFor();
    await tab.picture("a33-hovered");
    await page.mouse.down();
    await page.mouse.up();
    const leaf = selected(tab, /^first_watch, phases, matched, /);
    await leaf.waitFor({ state: "attached" });
    const [, from, to] = / ([\d.]+) s to ([\d.]+) s/.exec(await leaf.getAttribute("aria-label"));
    assert.ok(Number(from) * S <= time + 1e7 && time <= Number(to) * S + 1e7, `${from} s to ${to} s, ${time} ns`);
    // The same by keys: the cursor says what ran there, and Enter selects it.
    const tree = page.getByRole("tree", { name: "Time order" });
    await tree.focus();
    await page.keyboard.press("Escape");
    await leaf.waitFor({ state: "detached" });
    await cursor(tab).focus();
    await page.waitForFunction(() => /first_watch, called by main/.test(document.activeElement.ariaValueText));
    await page.keyboard.press("Enter");
    await leaf.waitFor({ state: "attached" });
    // What magnifies one magnifies both.
    const before = await inSight(tab);
    await tree.focus();
    await page.keyboard.press("w");
    await tab.settled();
    const after = await inSight(tab);
    assert.ok(Math.abs((before[1] - before[0]) / (after[1] - after[0]) - 1.5) < 0.001, `${before} to ${after}`);
    await tab.close();
  });

  scene("a33 gives a thread all of the width, and keeps pinned ones below it", async () => {
    const [main, dog] = [threadIn(phases.first_watch), threadIn(phases.dog_watch)];
    const tab = await openedAt(dog);
    const { page } = tab;
    const times = timesOf(dog);
    const [first, last] = [times[0], times.at(-1)];
    const [start, end] = await inSight(tab);
    const free = (last - first) / 20;
    assert.ok(start <= first && start > first - free && end >= last && end < last + free, `${[start, first, last, end]}`);
    await page.getByRole("button", { name: `Pin dog ${dog}` }).click();
    await choose(tab, main);
    const pinned = page.getByRole("tree", { name: `Time order of dog ${dog}` });
    await pinned.waitFor();
    assert.equal(await assertAligned(tab), 2);
    // Together they take all of the time.
    assert.equal((await inSight(tab))[0], 0);
    await page.waitForFunction((dog) => location.hash.includes(`pinned=${dog}`), dog);
    await pinned.getByRole("treeitem").first().waitFor({ state: "attached" });
    await pinned.focus();
    await page.keyboard.press("Home");
    await pinned.locator('[aria-selected="true"]').and(page.getByLabel(/^dog/)).waitFor({ state: "attached" });
    assert.deepEqual(await tab.findings(), []);
    await tab.pictures("a33-pinned");
    // The time ends where the side panel begins.
    await page.locator(".coverage-meter").click();
    await page.locator(".dock").waitFor();
    await tab.settled();
    assert.equal(await assertAligned(tab), 2);
    await page.getByRole("button", { name: `Unpin dog ${dog}` }).click();
    await pinned.waitFor({ state: "detached" });
    await choose(tab, dog);
    assert.ok((await inSight(tab))[0] > 0);
    await tab.view(/Flame graph/);
    await tab.settled();
    assert.equal((await inSight(tab))[0], 0);
    await tab.close();
  });
});
