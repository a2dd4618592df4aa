// Timeline and heat map in a real browser, over a session that answers from a made-up minute: pointer, keys, touch, what a
// screen reader is told. What a worker answers of a real recording is the business of time.test.mjs.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { harnessPage } from "../../www/test/harness/bundle.mjs";
import { visit } from "./chromium.mjs";
import { afterScenes, beforeScenes, scene } from "./scene.mjs";

let address;
let tab;
let browser;

beforeScenes(async () => {
  address = await harnessPage();
  browser = await visit({ width: 1440, height: 900 });
  tab = browser.page;
});

afterScenes(async () => {
  await browser.close();
  assert.deepEqual(browser.errors, []);
});

/** Opens the harness with the shell around it and waits for the first areas. */
async function open(query = "", mark = "perftab:timeline") {
  await tab.goto(`${address}?page&${query}`);
  await tab.waitForFunction((mark) => performance.getEntriesByName(mark).length > 0, mark);
}

const plot = () => tab.locator(".timeline-plot").boundingBox();
const cursor = () => tab.getByRole("slider", { name: "Time cursor" });
const chip = () => tab.locator(".context-bar", { hasText: /\d s to / });
const row = (name) => tab.locator(".timeline-row", { hasText: name }).first();

/** Where a second of the whole minute lies; 8 px at the right are free. */
async function xOf(second) {
  const { x, width } = await plot();
  return x + ((width - 8) * second) / 60;
}

async function drag(from, to, { shift = false, release = true } = {}) {
  const { y, height } = await plot();
  if (shift) await tab.keyboard.down("Shift");
  await tab.mouse.move(await xOf(from), y + height / 2);
  await tab.mouse.down();
  await tab.mouse.move(await xOf((from + to) / 2), y + height / 2, { steps: 3 });
  await tab.mouse.move(await xOf(to), y + height / 2, { steps: 3 });
  if (release) await tab.mouse.up();
  if (shift) await tab.keyboard.up("Shift");
}

const range = async (words) => {
  await chip().getByText(words).first().waitFor();
};
const noRange = () => tab.waitForFunction(() => !/\d s to \d/.test(document.querySelector(".context-bar").textContent));

/** What the two ends of the range are for a screen reader, at the first track. */
const edges = () =>
  tab
    .locator('.timeline-row.active [role="slider"], .timeline-row:first-child [role="slider"]')
    .evaluateAll((all) => all.slice(0, 2).map((each) => each.getAttribute("aria-valuetext")));

describe("timeline", () => {
  scene("a drag selects, Shift and drag extend, a handle moves one edge, Back undoes each", async () => {
    await open();
    await drag(20, 30);
    await range("20.00 s to 30.00 s");
    await drag(35, 40, { shift: true });
    await range("20.00 s to 40.00 s");
    await drag(20, 25);
    await range("25.00 s to 40.00 s");
    await tab.goBack();
    await range("20.00 s to 40.00 s");
    await tab.goBack();
    await range("20.00 s to 30.00 s");
    await tab.goBack();
    await noRange();
  });

  scene("Esc during a drag leaves what was; twice afterwards it clears the range", async () => {
    await open();
    await drag(10, 20);
    await range("10.00 s to 20.00 s");
    await drag(40, 50, { release: false });
    await tab.keyboard.press("Escape");
    await tab.mouse.up();
    await range("10.00 s to 20.00 s");
    await tab.keyboard.press("a");
    await tab.keyboard.press("Escape");
    await range("10.00 s to 20.00 s");
    await tab.keyboard.press("Escape");
    await noRange();
  });

  scene("a press that is let go outside of the timeline drags nothing afterwards", async () => {
    await open();
    const before = await edges();
    const { y, height } = await plot();
    const middle = y + height / 2;
    await tab.mouse.move(await xOf(20), middle);
    await tab.mouse.down();
    await tab.mouse.move(await xOf(20), y + height + 200, { steps: 3 });
    await tab.mouse.up();
    await tab.mouse.move(await xOf(20), middle, { steps: 3 });
    await tab.mouse.move(await xOf(40), middle, { steps: 3 });
    await tab.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));
    assert.deepEqual(await edges(), before);
    // A click elsewhere would have dropped it.
    await tab.mouse.click(await xOf(40), middle);
    await noRange();
    await drag(10, 20);
    await range("10.00 s to 20.00 s");
  });

  scene("arrows move the cursor, Shift and arrows make a range that is one step", async () => {
    await open();
    await cursor().focus();
    await tab.keyboard.press("Home");
    // A step is half a second where a minute is in sight.
    for (let i = 0; i < 4; i++) await tab.keyboard.press("PageDown");
    assert.match(await cursor().getAttribute("aria-valuetext"), /^20\.000 s, All CPUs, /);
    await tab.keyboard.down("Shift");
    for (let i = 0; i < 2; i++) await tab.keyboard.press("PageDown");
    await tab.keyboard.press("ArrowLeft");
    await tab.keyboard.up("Shift");
    await range("20.000 s to 29.500 s");
    await tab.goBack();
    await noRange();
  });

  scene("f zooms into the range, with a crumb for each, and 0 shows all", async () => {
    await open();
    const crumbs = async () => (await tab.locator(".time-crumbs").innerText()).split(" › ");
    await drag(20, 40);
    await tab.keyboard.press("f");
    await tab.waitForFunction(() => document.querySelector(".time-crumbs").innerText.includes("20.00 s"));
    assert.deepEqual(await crumbs(), ["60.0 s", "20.00 s"]);
    const [min, max] = await cursor().evaluate((el) => [el.ariaValueMin, el.ariaValueMax]);
    assert.deepEqual([min, max], [String(20e9), String(40e9)]);
    // A sub-range: a quarter of what is in sight.
    await drag(15, 30);
    await range("25.000 s to 30.000 s");
    await tab.keyboard.press("f");
    assert.deepEqual(await crumbs(), ["60.0 s", "20.00 s", "5.000 s"]);
    await tab.locator(".time-crumbs").getByRole("button", { name: "20.00 s" }).click();
    assert.deepEqual(await crumbs(), ["60.0 s", "20.00 s"]);
    await range("25.000 s to 30.000 s");
    await cursor().focus();
    await tab.keyboard.press("0");
    assert.deepEqual(await crumbs(), ["60.0 s"]);
  });

  scene("w, s, a and d move time, and nothing is asked of the flame graph", async () => {
    await open();
    await cursor().focus();
    const window = () => cursor().evaluate((el) => [Number(el.ariaValueMin), Number(el.ariaValueMax)]);
    await tab.keyboard.press("w");
    const [start, end] = await window();
    assert.equal(end - start, 40e9);
    await tab.keyboard.press("d");
    assert.deepEqual(await window(), [start + 8e9, end + 8e9]);
    await tab.keyboard.press("a");
    assert.deepEqual(await window(), [start, end]);
    await tab.keyboard.press("s");
    assert.deepEqual(await window(), [0, 60e9]);
    const { y } = await plot();
    await tab.mouse.move(await xOf(45), y + 40);
    await tab.keyboard.down("Control");
    await tab.mouse.wheel(0, -300);
    await tab.keyboard.up("Control");
    const [from, to] = await window();
    assert.ok(Math.abs((45e9 - from) / (to - from) - 0.75) < 0.01, "what is under the pointer stays there");
    assert.ok(to - from < 40e9);
    await tab.getByRole("button", { name: "Undo" }).waitFor({ state: "detached" });
  });

  scene("[ and ] go from mark to mark, and say what they are; the pointer tells too", async () => {
    await open();
    await cursor().focus();
    await tab.keyboard.press("Home");
    const said = () => cursor().getAttribute("aria-valuetext");
    await tab.keyboard.press("]");
    assert.equal(await said(), "3.000 s: exec of nginx");
    await tab.keyboard.press("]");
    assert.equal(await said(), "24.000 s: 804 events lost");
    await tab.keyboard.press("]");
    await tab.keyboard.press("[");
    assert.equal(await said(), "24.000 s: 804 events lost");
    const { y } = await plot();
    await tab.mouse.move(await xOf(29), y + 15);
    assert.equal(await tab.locator(".time-tip").innerText(), "29.000 s: 400 events lost");
  });

  scene("a process opens to its threads; a double click on a track selects it", async () => {
    await open();
    assert.equal(await row("nginx").getAttribute("aria-expanded"), "false");
    await row("nginx").focus();
    await tab.keyboard.press("ArrowRight");
    await tab.locator('.timeline-row[aria-level="2"]').first().waitFor();
    assert.equal(await row("nginx").getAttribute("aria-expanded"), "true");
    const { y } = await plot();
    // Ruler 20, all CPUs 40, the process 26, then its first thread.
    await tab.mouse.dblclick(await xOf(30), y + 20 + 40 + 26 + 12);
    await tab.locator('.timeline-row[aria-level="2"][aria-selected="true"]').waitFor();
    await tab
      .locator(".context-bar")
      .getByText(/nginx.* 812/)
      .first()
      .waitFor();
    await tab.goBack();
    await tab.locator('.timeline-row[aria-level="2"][aria-selected="true"]').waitFor({ state: "detached" });
  });

  scene("tracks are grouped, hidden and shown again; what has nothing is empty", async () => {
    await open();
    const names = () => tab.locator(".timeline-row .timeline-label").allInnerTexts();
    assert.deepEqual(await names(), ["nginx", "edge-auth", "node", "swapper", "cron"]);
    assert.match(await row("cron").getAttribute("class"), /empty/);
    await row("node").focus();
    await tab.keyboard.press("Delete");
    assert.deepEqual(await names(), ["nginx", "edge-auth", "swapper", "cron"]);
    const menu = tab.getByRole("button", { name: "Timeline options" });
    await menu.click();
    await tab.getByRole("button", { name: "Show node" }).click();
    assert.deepEqual(await names(), ["nginx", "edge-auth", "node", "swapper", "cron"]);
    await menu.click();
    await tab.getByRole("group", { name: "Group by" }).getByRole("button", { name: "CPU" }).click();
    await tab.locator(".timeline-row", { hasText: "CPU 0" }).waitFor();
    await tab.keyboard.press("Escape");
  });

  scene("every track has the two ends of the range as sliders", async () => {
    await open();
    await drag(20, 30);
    await range("20.00 s to 30.00 s");
    assert.deepEqual(await edges(), ["20.000 s", "30.000 s"]);
    const end = row("nginx").getByRole("slider", { name: "nginx, end of the range" });
    await end.focus();
    await tab.keyboard.press("ArrowRight");
    await range("20.00 s to 30.50 s");
    assert.equal(await end.getAttribute("aria-valuetext"), "30.500 s");
    await tab.goBack();
    await range("20.00 s to 30.00 s");
  });

  scene("thousands of threads have elements only for those in sight, and scrolling keeps up", async () => {
    await open("threads=1500");
    await tab.getByRole("button", { name: "Timeline options" }).click();
    await tab.getByRole("group", { name: "Group by" }).getByRole("button", { name: "Thread" }).click();
    await tab.keyboard.press("Escape");
    await tab.waitForFunction(() => Number(document.querySelector('.timeline [role="treegrid"]').ariaRowCount) > 6000);
    assert.ok((await tab.locator(".timeline-row").count()) < 60);
    await tab.locator(".timeline-scroller").evaluate((el) => el.scrollTo(0, el.scrollHeight));
    await tab.locator(".timeline-row", { hasText: "cron" }).waitFor();
  });

  scene("the strip opens, and a range can be dragged in it", async () => {
    await open("view=functions");
    await drag(20, 30);
    await range("20.00 s to 30.00 s");
    await tab.getByRole("button", { name: /All CPUs timeline/ }).click();
    await row("nginx").waitFor();
    await tab.getByRole("button", { name: "Timeline options" }).click();
    await tab.getByRole("button", { name: "Collapse the timeline" }).click();
    await tab.locator(".timeline-strip").waitFor();
  });
});

describe("timeline on a phone", () => {
  let touch;
  beforeScenes(async () => {
    await tab.setViewportSize({ width: 420, height: 900 });
    touch = await tab.context().newCDPSession(tab);
    await touch.send("Emulation.setTouchEmulationEnabled", { enabled: true });
  });
  afterScenes(async () => {
    await touch.send("Emulation.setTouchEmulationEnabled", { enabled: false });
    await tab.setViewportSize({ width: 1440, height: 900 });
  });

  async function swipe(fromX, toX, y) {
    const at = (x) => ({ touchPoints: [{ x, y }] });
    await touch.send("Input.dispatchTouchEvent", { type: "touchStart", ...at(fromX) });
    for (let step = 1; step <= 6; step++) {
      await touch.send("Input.dispatchTouchEvent", { type: "touchMove", ...at(fromX + ((toX - fromX) * step) / 6) });
    }
    await touch.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
  }

  scene("a23 a finger drags a range and its handles, which are 44 px wide to it", async () => {
    await open();
    const { y } = await plot();
    const { height } = await tab.locator(".timeline-region").boundingBox();
    assert.equal(Math.round(height), 82);
    await swipe(await xOf(15), await xOf(30), y + 50);
    await range("15.00 s to 30.00 s");
    // 20 px beside the edge is still the handle.
    await swipe((await xOf(30)) + 20, (await xOf(40)) + 20, y + 50);
    await range("15.00 s to 40.00 s");
  });

  scene("a23 a finger chooses cells of the heat map", async () => {
    await open("view=heat-map", "perftab:heat-map");
    const { x, y } = await tab.locator(".heat-content").boundingBox();
    const cell = await tab.locator(".heat-content").evaluate((el) => (Number.parseFloat(el.style.width) - 6) / 60);
    await swipe(x + 3 + 10.5 * cell, x + 3 + 15.5 * cell, y + 5);
    await range("10.000 s to 15.020 s");
  });
});

describe("heat map", () => {
  const grid = () => tab.getByRole("grid", { name: /Heat map/ });
  const cell = () =>
    tab.evaluate(() => {
      const grid = document.querySelector(".heat-mirror");
      return document.getElementById(grid.getAttribute("aria-activedescendant")).getAttribute("aria-label");
    });
  /** The middle of the cell at a second and a row of 20 ms. */
  async function cellAt(second, row) {
    const place = await tab.locator(".heat-content").evaluate((el) => {
      const { x, y } = el.getBoundingClientRect();
      // 3 px are free around the cells.
      return { x: x + 3, y: y + 3, cell: (Number.parseFloat(el.style.width) - 6) / 60 };
    });
    return [place.x + (second + 0.5) * place.cell, place.y + row * 6 + 2];
  }

  scene("a drag selects contiguous time, Shift and drag extend it", async () => {
    await open("view=heat-map", "perftab:heat-map");
    await tab.mouse.move(...(await cellAt(26, 7)));
    await tab.mouse.down();
    await tab.mouse.move(...(await cellAt(27, 30)), { steps: 3 });
    await tab.mouse.move(...(await cellAt(28, 20)), { steps: 3 });
    await tab.locator(".heat-head", { hasText: "26.140 s to 28.420 s" }).waitFor();
    await tab.mouse.up();
    await range("26.140 s to 28.420 s");
    assert.match(
      await tab.locator(".heat-head").innerText(),
      /^26\.140 s to 28\.420 s 2\.280 s, [\d,]+ samples, [\d.]+ CPUs busy on average \(whole profile: [\d.]+\)/,
    );
    await tab.keyboard.down("Shift");
    await tab.mouse.move(...(await cellAt(30, 0)));
    await tab.mouse.down();
    await tab.mouse.move(...(await cellAt(31, 9)), { steps: 3 });
    await tab.mouse.up();
    await tab.keyboard.up("Shift");
    await range("26.140 s to 31.200 s");
  });

  scene("keys go from cell to cell, say what is there, and extend the range", async () => {
    await open("view=heat-map", "perftab:heat-map");
    await grid().focus();
    await tab.keyboard.press("Home");
    assert.match(await cell(), /^0\.000 s, [\d,]+ samples$/);
    await tab.keyboard.press("ArrowRight");
    await tab.keyboard.press("ArrowDown");
    assert.match(await cell(), /^1\.020 s, /);
    await tab.keyboard.press("ArrowUp");
    await tab.keyboard.press("ArrowUp");
    assert.match(await cell(), /^0\.980 s, /, "the cell before the first of a second is the last of the one before");
    await tab.keyboard.down("Shift");
    await tab.keyboard.press("ArrowRight");
    await tab.keyboard.press("ArrowDown");
    await tab.keyboard.up("Shift");
    await range("0.980 s to 2.020 s");
    const { rows, columns } = await grid().evaluate((el) => ({ rows: el.ariaRowCount, columns: el.ariaColCount }));
    assert.deepEqual([rows, columns], ["50", "60"]);
    await tab.goBack();
    await noRange();
  });

  scene("the card says what a cell is, and rows can be finer", async () => {
    await open("view=heat-map", "perftab:heat-map");
    await tab.mouse.move(...(await cellAt(28, 20)));
    await tab.locator(".heat-card").waitFor();
    assert.match(
      await tab.locator(".heat-card").innerText(),
      /28\.400 s to 28\.420 s[\s\S]*Samples[\s\S]*CPUs busy[\s\S]* of 16[\s\S]*Mostly/,
    );
    await tab.getByRole("button", { name: "10 ms" }).click();
    await tab.waitForFunction(() => document.querySelector(".heat-mirror").ariaRowCount === "100");
    await tab.getByRole("button", { name: "20 ms" }).click();
  });

  scene("a range of the timeline is outlined in the heat map, and the other way round", async () => {
    await open();
    await drag(20, 30);
    await range("20.00 s to 30.00 s");
    await tab.getByRole("tab", { name: /Heat map/ }).click();
    await tab.locator(".heat-head", { hasText: "20.000 s to 30.000 s" }).waitFor();
    await tab.getByRole("tab", { name: /Flame graph/ }).click();
    await row("nginx").waitFor();
    assert.deepEqual(await edges(), ["20.000 s", "30.000 s"]);
  });
});
