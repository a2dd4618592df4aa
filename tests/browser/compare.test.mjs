// Two profiles beside each other, and a range beside the rest: what is compared with what, what the numbers are, and how
// it is read without seeing or pointing.
import assert from "node:assert/strict";
import { copyFileSync } from "node:fs";
import { describe } from "node:test";
import { Parts, run } from "./recording.mjs";
import { afterScenes, beforeScenes, scene } from "./scene.mjs";
import { Tab, axe } from "./tab.mjs";

const parts = new Parts();
let low;
let raised;
let lowData;
let raisedData;
let host;

beforeScenes(async () => {
  low = parts.compileCanals(["low", "canals"]);
  raised = parts.compileCanals(["raised", "canals"], "-DRAISED");
  const options = ["-e", "cpu-clock", "-F", "1999"];
  lowData = parts.record("low.data", options, [low]);
  raisedData = parts.record("raised.data", options, [raised]);
  host = await parts.host();
});

afterScenes(() => parts.end());

/** The share of samples that end in a function, in percent, as perf counts it. */
function selfByPerf(recording, name) {
  const options = ["--stdio", "--no-children", "-g", "none", "--no-inline", "-F", "period,symbol", "-t", "|", "-i", recording];
  const lines = run("perf", ["report", ...options]).split("\n");
  const rows = lines.filter((line) => /^\s*\d+\s*\|/.test(line)).map((line) => line.split("|"));
  const sum = (rows) => rows.reduce((sum, [period]) => sum + Number(period), 0);
  return (100 * sum(rows.filter(([, symbol]) => symbol.trim().endsWith(`] ${name}`)))) / sum(rows);
}

/** The share of samples with a function anywhere on their stack, in percent, as perf counts it. */
function totalByPerf(recording, name) {
  const output = run("perf", ["script", "--no-inline", "-i", recording, "-F", "comm,ip,sym"]);
  const stacks = output.split(/\n\s*\n/).filter((block) => block.trim() !== "");
  return (100 * stacks.filter((block) => new RegExp(`^\\s*[0-9a-f]+ ${name}$`, "m").test(block)).length) / stacks.length;
}

/** Opens both as they are dropped together. */
async function bothOpened(first, second, options = {}, fragment = "") {
  // High enough for every row of the table.
  const tab = await Tab.open(host + fragment, { height: 3000, ...options });
  await tab.drop(first, second);
  await tab.page.getByRole("button", { name: "Open both to compare" }).click();
  await tab.page.getByRole("heading", { name: "Comparing two profiles" }).waitFor();
  await tab.settled();
  return tab;
}

/** The same, and the programs have their names. */
async function compared(first, second, options = {}, fragment = "") {
  const tab = await bothOpened(first, second, options, fragment);
  await tab.drop(low, raised);
  await tab.page.locator(".pair", { hasText: "canals" }).filter({ hasNotText: "unnamed" }).waitFor();
  await tab.settled();
  return tab;
}

/** The table of changes as it stands, by function and DSO. */
async function changes(tab) {
  await tab.view(/Functions/);
  await tab.settled();
  const rows = await tab.page
    .locator(".changes .row:not(.loading)")
    .evaluateAll((rows) => rows.map((row) => [...row.querySelectorAll("[role=gridcell]")].map((cell) => cell.textContent)));
  return new Map(
    rows.map(([change, before, after, name, dso, certainty]) => [`${name} ${dso}`, { change, before, after, certainty }]),
  );
}

/** "+3.2" → 3.2 */
const number = (text) => Number(text.replace("−", "-").replace("+", ""));
const percent = (text) => (text === "none" ? 0 : Number.parseFloat(text));
/** Of a row, whichever side lacks it. */
const rowOf = (table, name) => [...table].find(([key]) => key.startsWith(name))?.[1];

describe("comparison", () => {
  scene("a16 two builds dropped together are compared by function name", async () => {
    const tab = await compared(lowData, raisedData);
    const table = await changes(tab);
    for (const name of ["dig_canal", "lift_boat", "flood_lock", "drain_lock"]) {
      const { change, before, after } = rowOf(table, name);
      const [then, now] = [lowData, raisedData].map((data) => selfByPerf(data, name));
      assert.ok(Math.abs(percent(before) - then) < 0.06 && Math.abs(percent(after) - now) < 0.06, `${name} ${before} ${after}`);
      assert.ok(Math.abs(number(change) - (now - then)) < 0.06, `${name} ${change}`);
    }
    assert.deepEqual([rowOf(table, "flood_lock").before, rowOf(table, "drain_lock").after], ["none", "none"]);
    const keys = [...table.keys()];
    assert.deepEqual(keys.slice(0, 2).sort(), ["flood_lockonly after canals", "lift_boat canals"]);
    assert.equal(keys.at(-1), "drain_lockonly before canals");
    assert.equal(rowOf(table, "flood_lock").certainty, "beyond noise");
    const pair = tab.page.locator(".pair", { hasText: "canals" });
    assert.match(await pair.textContent(), /different builds.*→.*compared by function name/);
    await tab.view(/Flame graph/);
    await tab.pictures("a16-compare");
    await tab.page.getByRole("button", { name: "Both", exact: true }).click();
    await tab.pictures("a16-compare-both");
    await tab.close();
  });

  scene(
    "a16 on a phone the bar says what is compared, and how to stop",
    async () => {
      const tab = await compared(lowData, raisedData, { height: 900 });
      await tab.page.setViewportSize({ width: 420, height: 900 });
      const title = tab.page.getByRole("heading", { name: "Comparing two profiles" });
      assert.ok(await title.evaluate((heading) => heading.scrollWidth <= heading.clientWidth), "the title is whole");
      await tab.pictures("a16-compared");
      await tab.page.getByRole("button", { name: "Stop comparing" }).click();
      await title.waitFor({ state: "detached" });
      await tab.close();
    },
    { tier: "all" },
  );

  scene("a16 what one side cannot name is not compared yet, and a file goes to the side that wants it", async () => {
    const tab = await bothOpened(lowData, raisedData);
    const { page } = tab;
    const pair = page.locator(".pair", { hasText: "canals" });
    const named = async () => (await page.locator(".side-named").allInnerTexts()).map((text) => Number.parseFloat(text));
    const ofCanals = async () => [...(await changes(tab))].filter(([key]) => key.endsWith(" canals"));
    assert.ok((await named()).every((percent) => percent < 20));

    await tab.drop(raised);
    await page.getByText("Used 1 of 1 file: canals (After).").first().waitFor();
    await pair.getByText("not comparable yet: Before lacks names for canals").waitFor();
    const [before, after] = await named();
    assert.ok(before < 20 && after > 60, `${before} ${after}`);
    const table = await changes(tab);
    assert.equal([...table.keys()].at(-1).endsWith(" canals"), true, "what cannot be compared comes last");
    for (const [name, row] of await ofCanals()) {
      assert.deepEqual([row.change, row.certainty], ["–", "not comparable yet"], name);
    }
    await tab.view(/Flame graph/);
    await tab.pictures("a16-not-comparable");

    await tab.drop(low);
    await page.getByText("Used 1 of 1 file: canals (Before).").first().waitFor();
    await pair.getByText("compared by function name").waitFor();
    assert.ok((await named()).every((percent) => percent > 60));
    assert.ok((await ofCanals()).every(([, { certainty }]) => certainty !== "not comparable yet"));
    await tab.close();
  });

  scene("a16 swap negates every change", async () => {
    const tab = await compared(lowData, raisedData);
    const there = await changes(tab);
    await tab.page.getByRole("button", { name: "Swap" }).click();
    await tab.page.locator(".side-box").first().filter({ hasText: "raised.data" }).waitFor();
    await tab.settled();
    // What grew most is now last.
    await tab.page.getByRole("combobox", { name: "Order" }).selectOption("Largest decrease");
    const back = await changes(tab);
    assert.ok(there.size >= 4);
    for (const [key, row] of there) {
      const plain = key.replace(/only (before|after)/, (_, side) => `only ${side === "before" ? "after" : "before"}`);
      assert.equal(number(back.get(plain).change) + 0, 0 - number(row.change), key);
      assert.deepEqual([back.get(plain).before, back.get(plain).after], [row.after, row.before], key);
    }
    await tab.close();
  });

  scene("a16 the same file twice gives zeros", async () => {
    const copy = parts.path("copy.data");
    copyFileSync(lowData, copy);
    const tab = await compared(lowData, copy);
    const named = await tab.page.locator(".side-named").allInnerTexts();
    assert.equal(named.filter((text) => Number.parseFloat(text) > 60).length, 2, `one file names both sides: ${named}`);
    for (const basis of ["Share of total", "Per second", "Raw weight"]) {
      await tab.page.getByRole("button", { name: basis }).click();
      for (const [key, { change, before, after, certainty }] of await changes(tab)) {
        assert.ok(["0.0", "0"].includes(change), `${basis}: ${key} ${change}`);
        assert.deepEqual([before, certainty], [after, "within noise"], key);
      }
    }
    assert.equal(await tab.page.locator(".only-tag").count(), 0);
    await tab.close();
  });

  scene(
    "a16 the call tree of both says of each call what changed",
    async () => {
      const tab = await compared(lowData, raisedData, { initPath: axe, height: 900 });
      await tab.page.keyboard.press("4");
      const tree = tab.page.getByRole("treegrid", { name: "Call tree of both profiles" });
      await tree
        .getByRole("row", { name: /canals/ })
        .first()
        .waitFor();
      await tab.page.getByRole("button", { name: "Expand to the largest change" }).click();
      await tree.locator(".row.selected", { hasText: "drain_lock" }).waitFor();
      const rows = await tree
        .locator(".rows-body .row")
        .evaluateAll((rows) => rows.map((row) => [...row.querySelectorAll("[role=gridcell]")].map((cell) => cell.textContent)));
      for (const name of ["dig_canal", "flood_lock", "drain_lock"]) {
        const [change, before, after] = rows.find(([, , , call]) => call.startsWith(name));
        const [then, now] = [lowData, raisedData].map((data) => totalByPerf(data, name));
        assert.ok(
          Math.abs(percent(before) - then) < 0.06 && Math.abs(percent(after) - now) < 0.06,
          `${name} ${before} ${after}, by perf ${then} ${now}`,
        );
        assert.ok(Math.abs(number(change) - (now - then)) < 0.06, `${name} ${change}`);
      }
      await tree.focus();
      for (const key of ["Home", "ArrowLeft"]) await tab.page.keyboard.press(key);
      await tab.page.waitForFunction(() => document.querySelectorAll("[role=treegrid] .rows-body .row").length === 1);
      await tab.page.keyboard.press("ArrowRight");
      await tree.getByRole("row", { name: /main/ }).waitFor();
      assert.deepEqual(await tab.findings(), []);
      await tab.pictures("a16-compare-tree");
      // The selection is that of the graph.
      await tab.view(/Flame graph/);
      await tab.page.locator('[role=treeitem][aria-selected="true"][aria-label^="canals"]').waitFor();
      await tab.close();
    },
    { tier: "all" },
  );

  scene(
    "a16 where two are compared, what cannot be had says why",
    async () => {
      const tab = await compared(lowData, raisedData, { height: 900 });
      await tab.page.getByText("Time order, source and heat map show a single profile").waitFor();
      assert.equal(await tab.page.title(), "Comparing · low.data · perftab");
      // Their keys say so, and lead there.
      await tab.page.keyboard.press("5");
      const toast = tab.page.locator(".toast", { hasText: "Source shows a single profile" });
      await toast.getByRole("button", { name: "Stop comparing" }).click();
      await tab.page.getByRole("tab", { name: /Source/, selected: true }).waitFor();
      await tab.page.getByRole("heading", { name: "low.data" }).waitFor();
      assert.equal(await tab.page.title(), "low.data · perftab");
      await tab.page.getByRole("button", { name: "Compare…" }).click();
      const item = tab.page.getByRole("button", { name: /The range with the rest/ });
      await item.getByText("select a range in the timeline first").waitFor();
      assert.ok(await item.isDisabled());
      await tab.close();
    },
    { tier: "all" },
  );

  scene("a16 filters act on both by name, and the bar says which are of the first only", async () => {
    // Half of a graph is enough to be another than all of it.
    const step = "step=search;dig_canal";
    const tab = await compared(lowData, raisedData, {}, `#s2&range=0-0.1&${step}`);
    const bar = tab.page.locator(".compare-bar");
    await bar.getByText("Applied to the first only: time range").waitFor();
    await tab.view(/Flame graph/);
    await tab.picture("compare-filtered");
    await bar.getByRole("button", { name: /^Remove .*0\.1/ }).click();
    await bar.getByText("Applied to the first only").waitFor({ state: "detached" });
    await tab.settled();
    // The numbers are those that the same filter has on the command line.
    const options = ["diff", "--json", "--no-local", "--image", low, "--image", raised, "--search", "dig_canal"];
    const said = parts.json(...options, lowData, raisedData);
    const table = await changes(tab);
    const named = said.functions.filter(({ name }) => ["dig_canal", "lift_boat", "main"].includes(name));
    assert.ok(named.length > 0, JSON.stringify(said.functions));
    for (const { name, before, after } of named) {
      const row = rowOf(table, `${name} canals`);
      assert.ok(
        Math.abs(percent(row.before) - before) < 0.06 && Math.abs(percent(row.after) - after) < 0.06,
        `${name} ${JSON.stringify(row)}`,
      );
    }
    const boxes = await tab.page.locator(".side-box").allTextContents();
    for (const [index, side] of [said.before, said.after].entries()) {
      assert.ok(boxes[index].includes(` · ${side.samples.toLocaleString("en-US")}`), `${boxes[index]} and ${side.samples}`);
      assert.ok(side.samples > 0);
    }
    await tab.close();
  });

  scene(
    "a16 a range and the rest add up to the whole, and the address holds them",
    async () => {
      const address = await parts.view(lowData);
      const tab = await Tab.open(`${address}#s2&range=0.05-0.2&compare=rest.raw.both`);
      await tab.page.getByRole("heading", { name: "Comparing a range with the rest" }).waitFor();
      await tab.page.locator(".changes .row", { hasText: "dig_canal" }).waitFor();
      await tab.settled();
      const boxes = await tab.page.locator(".side-box").allTextContents();
      assert.match(boxes[0], /Before.*The rest/);
      assert.match(boxes[1], /After.*The range.*150 ms|After.*The range.*0\.15 s/);
      const samples = boxes.map((text) => Number(/([\d,]+)$/.exec(text)[1].replaceAll(",", "")));
      const { samples: all } = await tab.ask("info");
      assert.equal(samples[0] + samples[1], all);
      assert.ok(samples.every((count) => count > 0));
      assert.equal(await tab.page.locator(".pair", { hasText: "canals" }).getByText("same build").count(), 1);
      // Without the range there is nothing to compare with the rest.
      await tab.page
        .getByRole("button", { name: /^Remove|^Clear/ })
        .first()
        .click();
      await tab.page.getByRole("heading", { name: "low.data" }).waitFor();
      await tab.close();
    },
    { tier: "all" },
  );

  scene(
    "a16 a comparison is read by keyboard and screen reader",
    async () => {
      const tab = await compared(lowData, raisedData, { initPath: axe });
      await tab.page.getByRole("tree").focus();
      for (const key of ["ArrowDown", "ArrowDown", "ArrowDown"]) await tab.page.keyboard.press(key);
      const words = tab.page.locator('[role=treeitem][aria-selected="true"]');
      await tab.page.waitForFunction(() =>
        / percent, after /.test(
          document.querySelector('[role=treeitem][aria-selected="true"]')?.getAttribute("aria-label") ?? "",
        ),
      );
      assert.match(
        await words.getAttribute("aria-label"),
        /before [\d.]+ percent, after [\d.]+ percent, change .* points, (beyond|within) noise/,
      );
      await tab.page.keyboard.press("Enter");
      await tab.page.locator(".breadcrumb .crumb").first().waitFor();
      await tab.page.keyboard.press("Backspace");
      await tab.page.waitForFunction(() => document.querySelectorAll(".breadcrumb .crumb").length <= 1);
      await tab.page.keyboard.press("3");
      await tab.page.getByRole("grid", { name: "Changes by function" }).waitFor();
      assert.deepEqual(await tab.findings(), []);
      await tab.page.getByRole("button", { name: "Stop comparing" }).click();
      await tab.page.getByRole("heading", { name: "low.data" }).waitFor();
      await tab.close();
    },
    { tier: "all" },
  );

  scene(
    "a16 perftab view serves two and both get their names",
    async () => {
      const address = await parts.view(lowData, raisedData);
      const tab = await Tab.open(address);
      await tab.page.getByRole("button", { name: "Open both to compare" }).click();
      await tab.page.locator(".changes .row", { hasText: "flood_lock" }).waitFor();
      assert.match(await tab.page.locator(".status-network").textContent(), /Nothing was sent/);
      await tab.close();
    },
    { tier: "all" },
  );
});
