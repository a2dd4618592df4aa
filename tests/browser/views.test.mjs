// The views in a real browser, over a session that answers from a made-up tree: pointer, keys, what a screen reader is
// told, and one selection for all views. What the worker really answers is the business of other tests.
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
  browser = await visit({ width: 1000, height: 700 });
  tab = browser.page;
});

afterScenes(async () => {
  await browser.close();
  assert.deepEqual(browser.errors, []);
});

/** Opens the harness and waits for its first answer. */
async function open(query, ready) {
  await tab.goto(`${address}?${query}`);
  await tab.waitForSelector(ready);
}

// The breadcrumb is there before the graph is, and a key or a click that comes between has nothing to go to.
const GRAPH = "[role=tree] [role=treeitem]";
const tree = () => tab.getByRole("tree");

/**
 * The words for the selected frame, once they say what is expected and the tree points at it. Both are read at one
 * moment: between two reads a new answer may have been drawn.
 */
async function spoken(pattern) {
  const words = await tab.waitForFunction((source) => {
    const active = document.querySelector('[role=treeitem][aria-selected="true"]');
    const pointed = document.querySelector("[role=tree]")?.getAttribute("aria-activedescendant");
    const words = active?.getAttribute("aria-label") ?? "";
    return active !== null && pointed === active.id && new RegExp(source).test(words) && words;
  }, pattern.source);
  return words.jsonValue();
}

const crumbs = async () => (await tab.locator(".breadcrumb").innerText()).split(/\s*›\s*/);
const rootIs = (name) => tab.waitForFunction((name) => document.querySelector(".breadcrumb strong")?.textContent === name, name);

/** The middle of a frame of the fixed graph: rows are 18 high, the first process is the widest. */
async function onGraph(xShare, row) {
  const box = await tab.locator(".flame-sticky").boundingBox();
  return [box.x + box.width * xShare, box.y + row * 18 + 9];
}

describe("flame graph", () => {
  scene("keys move the selection, and the tree says where it is", async () => {
    await open("", GRAPH);
    await tree().focus();
    await tab.keyboard.press("ArrowDown");
    assert.match(await spoken(/^all, total 100\.0 percent/), /100,000 samples$/);
    await tab.keyboard.press("ArrowDown");
    const first = await spoken(/^node, total/);
    await tab.keyboard.press("ArrowRight");
    await spoken(/^swapper/);
    await tab.keyboard.press("ArrowLeft");
    assert.equal(await spoken(/^node, total/), first);
    await tab.keyboard.press("ArrowUp");
    await spoken(/^all/);
    await tab.keyboard.press("End");
    await spoken(/matched|missing|forced/);
    await tab.keyboard.press("Home");
    await spoken(/^all/);
    assert.ok((await tab.getByRole("treeitem").count()) <= 200);
  });

  scene("every item has a level, and siblings their place among all", async () => {
    await open("", GRAPH);
    await tree().focus();
    for (const key of ["ArrowDown", "ArrowDown", "ArrowDown"]) await tab.keyboard.press(key);
    await spoken(/matched/);
    const items = await tab
      .getByRole("treeitem")
      .evaluateAll((all) => all.map((item) => [item.ariaLevel, item.ariaSelected, item.ariaPosInSet, item.ariaSetSize]));
    const selected = items.find(([, isSelected]) => isSelected === "true");
    assert.equal(selected[0], "3");
    assert.equal(selected[2], "1");
    assert.equal(items[0][0], "1", "the path begins at the root");
    const siblings = items.filter(([level]) => level === "3").map(([, , place]) => Number(place));
    assert.deepEqual(
      siblings,
      [...siblings].sort((a, b) => a - b),
    );
    assert.ok(
      items.some(([level]) => level === "4"),
      "its children are there",
    );
  });

  scene("Enter zooms in, Backspace goes up one, 0 shows all, Back undoes", async () => {
    await open("", GRAPH);
    await tree().focus();
    for (const key of ["ArrowDown", "ArrowDown", "ArrowDown"]) await tab.keyboard.press(key);
    const name = (await spoken(/matched/)).split(", ")[0];
    await tab.keyboard.press("Enter");
    await rootIs(name);
    assert.deepEqual(await crumbs(), ["all", "node", name]);
    await tab.keyboard.press("Backspace");
    await rootIs("node");
    await tab.goBack();
    await rootIs(name);
    await tab.keyboard.press("0");
    await rootIs("all");
    await tab.goBack();
    await rootIs(name);
    await tab.getByRole("button", { name: "node" }).click();
    await rootIs("node");
  });

  scene("a click selects, a double click zooms, Ctrl and wheel magnify about the pointer", async () => {
    await open("", GRAPH);
    await tab.mouse.click(...(await onGraph(0.2, 1)));
    await spoken(/^node, total/);
    const there = await onGraph(0.87, 2);
    await tab.mouse.click(...there);
    const under = await spoken(/0x/);
    await tab.mouse.move(...there);
    await tab.keyboard.down("Control");
    for (let i = 0; i < 5; i++) await tab.mouse.wheel(0, -100);
    await tab.keyboard.up("Control");
    // The map has appeared above the graph, and moved it down.
    await tab.waitForSelector(".minimap");
    await tab.mouse.click(there[0], (await onGraph(0, 2))[1]);
    assert.equal(await spoken(/0x/), under, "what was under the pointer still is");
    await tab.mouse.click(...(await onGraph(0.01, 1)));
    await spoken(/^swapper/); // the window moved away from the left
    await tree().press("0");
    await tab.waitForSelector(".minimap", { state: "detached" });
    await tab.mouse.dblclick(...(await onGraph(0.2, 1)));
    await rootIs("node");
  });

  scene("a press at the graph's edge that is let go outside drags nothing afterwards", async () => {
    await open("", GRAPH);
    const { y } = await tab.locator(".flame-sticky").boundingBox();
    const [x] = await onGraph(0.2, 2);
    await tab.mouse.move(x, y + 1);
    await tab.mouse.down();
    await tab.mouse.move(x, y - 2);
    await tab.mouse.move(x, y - 40);
    await tab.mouse.up();
    await tab.mouse.move(...(await onGraph(0.2, 1)), { steps: 3 });
    await tab.mouse.move(...(await onGraph(0.2, 2)), { steps: 3 });
    await tab.locator(".hover-card").waitFor();
    await tab.mouse.move(10, 10);
  });

  scene("the card comes after a pause, goes at once, and stays while it is pinned", async () => {
    await open("", GRAPH);
    const card = tab.locator(".hover-card");
    await tab.mouse.move(...(await onGraph(0.2, 2)));
    await card.waitFor();
    assert.match(await card.innerText(), /Total\s+36\.1\s%/);
    await tab.mouse.move(10, 10);
    await card.waitFor({ state: "detached" });
    await tab.mouse.move(...(await onGraph(0.2, 2)));
    await card.waitFor();
    await tab.keyboard.press("Alt");
    await tab.locator(".hover-card.pinned").waitFor();
    await tab.mouse.move(10, 10);
    await tab.mouse.move(...(await onGraph(0.8, 2)));
    assert.match(await card.innerText(), /Total\s+36\.1\s%/);
    await tab.keyboard.press("Escape");
    await card.waitFor({ state: "detached" });
  });

  scene("inverting shows the other tree and keeps the function", async () => {
    await open("", GRAPH);
    await tab.mouse.click(...(await onGraph(0.2, 2)));
    const name = (await spoken(/matched/)).split(", ")[0];
    await tab.keyboard.press("i");
    await tab.getByRole("button", { name: "Inverted", pressed: true }).waitFor();
    assert.equal((await spoken(/matched/)).split(", ")[0], name);
  });

  scene("the canvas has as many pixels as the screen gives it", async () => {
    for (const scale of [1, 1.5, 2]) {
      const own = await visit({ width: 801, height: 600, scale });
      await own.page.goto(address);
      await own.page.waitForSelector(GRAPH);
      await own.page.waitForFunction(() => document.querySelector("canvas").width > 300);
      const [pixels, css] = await own.page.evaluate(() => {
        const canvas = document.querySelector("canvas");
        return [canvas.width, canvas.getBoundingClientRect().width];
      });
      assert.equal(pixels, Math.round(css * scale), `at ${scale}`);
      await own.close();
    }
  });
});

describe("call tree", () => {
  const row = (name) => tab.getByRole("row", { name });

  scene("Right opens and goes in, Left goes out and closes", async () => {
    await open("view=tree", ".row");
    await tab.getByRole("treegrid").focus();
    await tab.keyboard.press("ArrowDown");
    const process = tab.locator('.row[aria-selected="true"]');
    assert.equal(await process.getAttribute("aria-expanded"), "false");
    const closed = await tab.locator(".row").count();
    await tab.keyboard.press("ArrowRight");
    await tab.locator('.row[aria-selected="true"][aria-expanded="true"]').waitFor();
    assert.ok((await tab.locator(".row").count()) > closed);
    await tab.keyboard.press("ArrowRight");
    await tab.locator('.row[aria-selected="true"][aria-level="2"]').waitFor();
    await tab.keyboard.press("ArrowLeft");
    await tab.locator('.row[aria-selected="true"][aria-level="1"]').waitFor();
    await tab.keyboard.press("ArrowLeft");
    await tab.locator('.row[aria-selected="true"][aria-expanded="false"]').waitFor();
    assert.equal(await tab.locator(".row").count(), closed);
    assert.ok(await row(/node/).first().isVisible());
  });

  scene("* opens everything below, and only what is in sight has elements", async () => {
    await open("view=tree", ".row");
    await tab.getByRole("treegrid").focus();
    await tab.keyboard.press("ArrowDown");
    await tab.keyboard.press("*");
    await tab.waitForFunction(() => {
      const grid = document.querySelector("[role=treegrid]");
      return Number(grid.ariaRowCount) > 500 && grid.ariaBusy === "false";
    });
    assert.ok((await tab.locator(".row").count()) < 100);
    await tab.keyboard.press("End");
    await tab.waitForFunction(() => {
      const grid = document.querySelector("[role=treegrid]");
      return document.querySelector('.row[aria-selected="true"]')?.ariaRowIndex === grid.ariaRowCount;
    });
  });

  scene("the hottest path ends at a call that is in sight, and closed", async () => {
    await open("view=tree", ".row");
    await tab.getByRole("button", { name: "Expand hottest path" }).click();
    const end = tab.locator('.row[aria-selected="true"]');
    await end.waitFor();
    assert.ok(Number(await end.getAttribute("aria-level")) > 5);
    assert.notEqual(await end.getAttribute("aria-expanded"), "true");
    const [top, grid] = await Promise.all([end.boundingBox(), tab.getByRole("treegrid").boundingBox()]);
    assert.ok(top.y >= grid.y && top.y + top.height <= grid.y + grid.height + 1);
  });
});

describe("functions", () => {
  scene("rows are as high as the list reckons, compact and comfortable", async () => {
    const heights = [];
    for (const density of ["comfortable", "compact"]) {
      await tab.evaluate((density) => localStorage.setItem("perftab.density", density), density);
      await open("view=functions", ".row:not(.loading)");
      const [row, all, count] = await tab.evaluate(() => [
        document.querySelector(".row").getBoundingClientRect().height,
        document.querySelector(".rows-body").getBoundingClientRect().height,
        Number(document.querySelector(".rows").getAttribute("aria-rowcount")) - 1,
      ]);
      assert.ok(Math.abs(row - all / count) < 0.1, `rows of ${row} px, ${count} of them in ${all} px`);
      heights.push(row);
    }
    assert.ok(heights[0] > heights[1], "comfortable rows are higher");
  });

  scene("headers sort, and say so", async () => {
    await open("view=functions", ".row:not(.loading)");
    const names = () => tab.locator(".row .frame-name").allInnerTexts();
    const bySelf = await names();
    const header = (name) => tab.getByRole("columnheader", { name });
    assert.equal(await header("Self").getAttribute("aria-sort"), "descending");
    await tab.getByRole("button", { name: "Function", exact: true }).click();
    await tab.waitForFunction((first) => document.querySelector(".row .frame-name")?.textContent !== first, bySelf[0]);
    const byName = await names();
    assert.deepEqual(
      byName,
      [...byName].sort((a, b) => a.localeCompare(b)),
    );
    assert.equal(await header("Function").getAttribute("aria-sort"), "ascending");
    assert.equal(await header("Self").getAttribute("aria-sort"), "none");
  });

  scene("End reaches a row that was not loaded yet", async () => {
    await open("view=functions", ".row:not(.loading)");
    await tab.getByRole("grid").focus();
    await tab.keyboard.press("End");
    await tab.waitForFunction(() => {
      const grid = document.querySelector("[role=grid]");
      return document.querySelector('.row[aria-selected="true"]')?.ariaRowIndex === grid.ariaRowCount;
    });
  });

  scene("a function that is selected here is selected in the flame graph", async () => {
    await open("view=functions&page", ".row:not(.loading)");
    const first = tab.locator(".row").nth(2);
    const name = await first.locator(".frame-name").innerText();
    await first.click();
    await tab.getByRole("tab", { name: /Flame graph/ }).click();
    assert.equal((await spoken(/percent/)).split(", ")[0], name);
    await tab.getByRole("tab", { name: /Call tree/ }).click();
    await tab.locator('.row[aria-selected="true"]').waitFor();
    assert.equal(await tab.locator('.row[aria-selected="true"] .frame-name').innerText(), name);
  });
});
