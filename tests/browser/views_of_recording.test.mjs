// The views over a real recording: that what stands on the screen is what `perftab report` says of the same file, how
// the selected function is shown between its callers and callees, and a thread's stacks along time.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { Parts } from "./recording.mjs";
import { afterScenes, beforeScenes, eventually, scene } from "./scene.mjs";
import { writeLibrary, writeRecording } from "./synthetic.mjs";
import { QUERY, Tab, axe } from "./tab.mjs";

/** `Kind.Unnamed` of the page. */
const UNNAMED = 5;

const parts = new Parts();
let recording;
let program;
let host;

beforeScenes(async () => {
  program = parts.compile(["tides"]);
  recording = parts.record("tides.perf.data", ["-F", "999"], [program, "20"]);
  host = await parts.host();
});

afterScenes(() => parts.end());

/** What the command line says of the recording, with the program's names. */
const report = () => parts.json("report", "--json", "--limit", "1000", recording);

async function open(options) {
  const tab = await Tab.open(host, options);
  await tab.drop(recording, program);
  await tab.opened();
  await tab.status("tides", "matched");
  return tab;
}

const shown = (share) => `${(share * 100).toFixed(1)} %`;

describe("flame graph", () => {
  scene("the card says where an inlined frame comes from and what it costs, and goes at once", async () => {
    const tab = await open({});
    const { page } = tab;
    const place = await page.locator(".flame-sticky").boundingBox();
    const card = page.locator(".hover-card");
    let words = "";
    // The hottest path goes down at the left.
    for (let row = 1; row < 12 && !words.startsWith("raise_swell"); row++) {
      await page.mouse.move(place.x + 60, place.y + row * 18 + 9);
      await card.waitFor();
      words = (await card.innerText()).replaceAll(/[\u202f\u2009]/g, " ");
    }
    assert.match(words, /^raise_swell \(inlined\)/);
    assert.match(words, /Matched/);
    assert.match(words, /tides · .*tests\/programs\/tides\.c:\d+ · inlined: yes/);
    assert.match(words, /Total\s+[\d.]+ %\s+[\d,]+ samples\s+[\d.]+ m?s/);
    assert.match(words, /Self\s+(< )?[\d.]+ %\s+[\d,]+ samples?\s+[\d.]+ [mµ]?s/);
    assert.equal((await card.boundingBox()).width, 344);
    await page.mouse.move(place.x + 60, place.y - 40);
    await card.waitFor({ state: "detached" });
    await tab.close();
  });
});

describe("functions", () => {
  scene("the table has the numbers of perftab report", async () => {
    const tab = await open({ spy: true });
    await tab.view(/Functions/);
    const rows = tab.page.locator(".functions .row:not(.loading)");
    await rows.first().waitFor();
    const { functions, weight: whole } = report();
    for (const name of ["rolling_sea", "order_by_height"]) {
      const wanted = functions.find((each) => each.name === name);
      const cells = await rows.filter({ hasText: name }).first().locator("[role=gridcell]").allInnerTexts();
      const numbers = cells.map((cell) => cell.replaceAll(/\s/g, " "));
      assert.equal(numbers[0], shown(wanted.self / whole), `${name} self`);
      assert.equal(numbers[1], shown(wanted.total / whole), `${name} total`);
    }
    await tab.close();
  });

  scene(
    "the selected function stands between its callers and callees, whichever way they are drawn",
    async () => {
      const tab = await open({});
      const { page } = tab;
      await tab.view(/Functions/);
      await page.locator(".functions .row", { hasText: "rolling_sea" }).first().click();
      const band = page.locator(".sandwich-band", { hasText: "rolling_sea" });
      await band.waitFor();
      const row = page.locator(".functions .row.selected");
      const [self, total] = await row.locator(".number").allInnerTexts();
      assert.match(await band.innerText(), new RegExp(`Self ${self}\\s+Total ${total}`.replaceAll(/\s/g, "\\s+")));
      assert.match(await band.innerText(), /Matched:\s*tides/);
      assert.match(await band.textContent(), /tides\.c:\d+/);
      // Its own frame is 100 % of both graphs, and next to the band.
      const callers = page.getByRole("tree", { name: "Callers of rolling_sea" });
      // A graph that is not there yet has no root for a key to go to.
      await callers.getByRole("treeitem").first().waitFor({ state: "attached" });
      await callers.focus();
      await page.keyboard.press("Home");
      const spoken = async (pattern) =>
        (
          await page.waitForFunction((source) => {
            const words = document.activeElement.querySelector('[aria-selected="true"]')?.ariaLabel ?? "";
            return new RegExp(source).test(words) && words;
          }, pattern.source)
        ).jsonValue();
      await spoken(/^rolling_sea, tides, matched, total 100\.0 percent/);
      // Callers grow upwards: up is where they are.
      await page.keyboard.press("ArrowUp");
      const caller = (await spoken(/^(?!rolling_sea)/)).split(", ")[0];
      await page.keyboard.press("Enter");
      await page.locator(".sandwich-band", { hasText: caller }).waitFor();
      await page.getByRole("combobox", { name: "Show as" }).selectOption("tree");
      await page.getByRole("treegrid", { name: `Callees of ${caller}` }).waitFor();
      await tab.pictures("e-sandwich-tree");
      await page.getByRole("combobox", { name: "Show as" }).selectOption("flame");
      await page.getByRole("tree", { name: `Callees of ${caller}` }).waitFor();
      await tab.pictures("e-sandwich");
      await tab.close();
    },
    { tier: "all" },
  );

  scene(
    "a31 the table begins without the side panel and leaves half to callers and callees; code without a name is counted apart",
    async () => {
      const tab = await Tab.open(host);
      const { page } = tab;
      await tab.drop(recording);
      await tab.opened();
      await page.locator(".dock").waitFor();
      await tab.view(/Functions/);
      await page.locator(".dock").waitFor({ state: "detached" });
      await page.locator(".functions .row:not(.loading)").first().click();
      await page.locator(".sandwich-band").waitFor();
      const rows = await tab.ask("functions", {
        query: { ...QUERY, unnamed: "one-per-dso" },
        order: { key: "self", direction: "descending" },
        groupBy: "function",
        from: 0,
        to: 100_000,
      });
      const unnamed = rows.kind.filter((kind) => kind === UNNAMED).length;
      assert.ok(unnamed > 0 && unnamed < rows.totalCount);
      const words = `${rows.totalCount - unnamed} functions, ${unnamed} without a name`;
      await page.locator(".table-foot", { hasText: words }).waitFor();
      for (const width of [1440, 1280]) {
        await page.setViewportSize({ width, height: 800 });
        await tab.settled();
        const [view, sandwich] = await Promise.all(
          [".functions-view", ".sandwich"].map((each) => page.locator(each).first().boundingBox()),
        );
        assert.ok(sandwich.width >= view.width / 2 - 1, `${sandwich.width} of ${view.width}`);
      }
      await tab.pictures("a31-functions");
      // What was opened stays open with its view.
      await page.locator(".coverage-meter").click();
      await page.locator(".dock").waitFor();
      for (const view of [/Time order/, /Heat map/]) {
        await tab.view(view);
        await page.locator(".dock").waitFor({ state: "detached" });
      }
      await tab.view(/Functions/);
      await page.locator(".dock").waitFor();
      await tab.close();
    },
  );

  scene("a38 columns are as wide as they are dragged, or made with arrow keys, and stay so", async () => {
    const tab = await Tab.open(host);
    const { page } = tab;
    await tab.drop(recording);
    await tab.opened();
    await tab.view(/Functions/);
    const row = page.locator(".functions .row:not(.loading)").first();
    await row.waitFor();
    const line = (name) => page.locator(".functions").getByRole("separator", { name: `Width of ${name}`, exact: true });
    const cell = (place) => row.locator("[role=gridcell]").nth(place);
    /** What the line says its column has, once that is what the column has. */
    const width = (name, place) =>
      eventually(async () => {
        const [said, { width }] = [await line(name).getAttribute("aria-valuenow"), await cell(place).boundingBox()];
        assert.equal(Number(said), Math.round(width));
        return width;
      });
    const before = await width("DSO", 3);
    const { x, y, height } = await line("DSO").boundingBox();
    await page.mouse.move(x + 3, y + height / 2);
    await page.mouse.down();
    await page.mouse.move(x + 3 - 40, y + height / 2, { steps: 4 });
    await page.mouse.up();
    await eventually(async () => assert.equal(await width("DSO", 3), before + 40));
    const self = await width("Self", 0);
    await line("Self").focus();
    await page.keyboard.press("ArrowRight");
    await eventually(async () => assert.equal(await width("Self", 0), self + 16));
    await tab.pictures("a38-columns");
    await page.reload();
    await page.locator("#app > *").first().waitFor();
    await tab.drop(recording);
    await row.waitFor();
    assert.deepEqual([await width("DSO", 3), await width("Self", 0)], [before + 40, self + 16]);
    await line("DSO").dblclick();
    await eventually(async () => assert.equal(await width("DSO", 3), before));
    /** By a step of the arrow key that leads away from the other side of a column. */
    const widen = async (table, name, key, cell) => {
      const had = (await cell.boundingBox()).width;
      await table.getByRole("separator", { name: `Width of ${name}`, exact: true }).focus();
      await page.keyboard.press(key);
      await eventually(async () => assert.equal(Math.round((await cell.boundingBox()).width), Math.round(had) + 16));
    };
    await tab.drop(program);
    await tab.status("tides", "matched");
    await row.click();
    await page.getByRole("combobox", { name: "Show as" }).selectOption("lines");
    const instructions = page.getByRole("grid", { name: /^Instructions of / });
    await widen(instructions, "Share", "ArrowRight", instructions.locator(".row .number").first());
    await widen(instructions, "Line", "ArrowLeft", instructions.locator(".row .line").first());
    await tab.pictures("a38-lines");
    // The ledger's: an identity that has room is shown as a whole.
    await tab.dock();
    const tides = page.locator(".dso-row", { hasText: "tides" }).first();
    await tides.locator(".dso-name").click();
    await tides.getByRole("button", { name: "Explain" }).click();
    const ledger = page.getByRole("region", { name: "DSOs" });
    const id = ledger.locator(".selected .id");
    assert.match(await id.innerText(), /^[0-9a-f]{8}…[0-9a-f]{4}$/);
    await widen(ledger, "Recorded build-id", "ArrowLeft", id);
    await widen(ledger, "Status", "ArrowRight", ledger.locator(".selected .status"));
    assert.match(await id.innerText(), /^[0-9a-f]{40}$/);
    await tab.pictures("a38-ledger");
    await tab.close();
  });

  scene("a40 recursion is folded between callers and callees, where that is chosen, and nowhere else", async () => {
    const [main, walk, leaf] = [0, 1, 2];
    // Who calls is told by the byte before: all but the last are a byte further on.
    const called = (way) => way.map((place, at) => (at === way.length - 1 ? place : place + 1 / 16));
    const task = { pid: 7, tid: 7, name: "walks" };
    const library = writeLibrary(parts, "walks", ["main_walk", "walk_on", "leaf_walk"]);
    // Half of the samples end in the leaf, three calls deep.
    const ways = [
      [main, walk],
      [main, walk, walk, walk, leaf],
    ];
    const samples = ways.map((way, at) => ({ task, time: 1000 + at, cpu: 0, weight: 1, way: called(way) }));
    const walks = parts.path("walks.perf.data");
    writeRecording(walks, library, [task], samples);
    const tab = await Tab.open(`${host}#s2&view=functions`);
    const { page } = tab;
    await tab.drop(walks, library.library);
    await page.locator(".functions .row", { hasText: "walk_on" }).first().click();
    await page.getByRole("combobox", { name: "Show as" }).selectOption("tree");
    const callees = page.getByRole("treegrid", { name: "Callees of walk_on" });
    const callers = page.getByRole("treegrid", { name: "Callers of walk_on" });
    /** What is called: the names of the rows, all of them open, with their totals. */
    const rows = async (grid) => {
      await grid.locator(".row").first().click();
      await page.keyboard.press("*");
      const texts = await grid
        .locator(".row")
        .evaluateAll((all) =>
          all.map((row) => `${row.querySelector(".frame-name").textContent} ${row.querySelector(".number").textContent}`),
        );
      return texts.map((text) => text.replaceAll(/[\u202f\u2009\u00a0]/g, " "));
    };
    const under = ["walk_on 100.0 %", "walk_on 50.0 %", "walk_on 50.0 %", "leaf_walk 50.0 %"];
    await eventually(async () => assert.deepEqual(await rows(callees), under));
    const choice = page.getByRole("combobox", { name: "Recursion" });
    await choice.selectOption("folded");
    await eventually(async () => assert.deepEqual(await rows(callees), ["walk_on 100.0 %", "leaf_walk 50.0 %"]));
    await eventually(async () => assert.deepEqual(await rows(callers), ["walk_on 100.0 %", "main_walk 100.0 %"]));
    assert.equal(await page.locator(".filter-chip").count(), 0, "it is no transform of all views");
    await tab.pictures("a40-recursion");
    await page.reload();
    await page.locator("#app > *").first().waitFor();
    await tab.drop(walks, library.library);
    await page.locator(".functions .row", { hasText: "walk_on" }).first().click();
    await eventually(async () => assert.equal(await choice.inputValue(), "folded"));
    await tab.close();
  });

  scene("a39 a search lists the functions that it finds, with their share, for the pointer and for keys", async () => {
    const tab = await open({ initPath: axe });
    const { page } = tab;
    const { functions, weight: whole } = report();
    const wanted = functions.filter(({ dso }) => dso === program);
    assert.ok(wanted.length > 3);
    await page.keyboard.press("/");
    await page.keyboard.type("dso:tides");
    const list = page.getByRole("listbox", { name: "Functions found" });
    const options = list.getByRole("option");
    await options.first().waitFor();
    const rows = await options.evaluateAll((all) =>
      all.map((row) => [...row.querySelectorAll(":scope > span:not(.swatch)")].map((part) => part.textContent)),
    );
    const plain = rows.map((row) => row.map((text) => text.replaceAll(/\s/g, " ")));
    const byName = (a, b) => (a[0] < b[0] ? -1 : 1);
    assert.deepEqual(
      plain.toSorted(byName),
      wanted.map(({ name, total }) => [name, "tides", shown(total / whole)]).toSorted(byName),
    );
    const shares = plain.map(([, , share]) => Number.parseFloat(share));
    assert.deepEqual(
      shares,
      shares.toSorted((a, b) => b - a),
    );
    assert.deepEqual(await tab.findings(), []);
    await tab.pictures("a39-search");
    const field = page.getByRole("combobox", { name: /^Search/ });
    const selected = page.locator(".selection");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    const second = options.nth(1);
    await eventually(async () => assert.equal(await second.getAttribute("aria-selected"), "true"));
    assert.equal(await field.getAttribute("aria-activedescendant"), await second.getAttribute("id"));
    // Enter chooses it; the next one goes on.
    await page.keyboard.press("Enter");
    await list.waitFor({ state: "detached" });
    await tab.panel("Selection");
    await selected.filter({ hasText: plain[1][0] }).waitFor();
    await page.locator(".search input").click();
    await page.keyboard.press("Enter");
    await page.keyboard.press("Enter");
    await selected.filter({ hasText: plain[2][0] }).waitFor();
    await page.locator(".search input").click();
    await options.first().click();
    await list.waitFor({ state: "detached" });
    await selected.filter({ hasText: plain[0][0] }).waitFor();
    await tab.close();
  });

  scene("names that arrive leave the selected function where it is", async () => {
    const tab = await Tab.open(`${host}#s2&unnamed=each-address`);
    const { page } = tab;
    await tab.drop(recording);
    await tab.opened();
    await tab.view(/Functions/);
    const dso = page.locator(".dso", { hasText: /^tides$/ });
    await page.locator(".functions .row:not(.loading)", { has: dso }).first().click();
    const band = page.locator(".sandwich-band strong");
    await band.waitFor();
    const address = await band.innerText();
    assert.match(address, /^0x[0-9a-f]+$/);
    await tab.drop(program);
    await tab.status("tides", "matched");
    await band.filter({ hasText: /^[a-z_]+$/ }).waitFor();
    await page.locator(".functions .row.selected").waitFor();
    assert.equal(await page.locator(".functions .row.selected .frame-name").innerText(), await band.innerText());
    await tab.close();
  });

  scene(
    "what was inlined into a function is shown as parts of its own code",
    async () => {
      const tab = await open({});
      const { page } = tab;
      await tab.view(/Functions/);
      await page.locator(".functions .row", { hasText: "rolling_sea" }).first().click();
      const inlined = page.getByRole("list", { name: /Code of rolling_sea/ });
      await inlined.waitFor();
      const words = await inlined.getByRole("listitem").allInnerTexts();
      assert.match(words[0], /^rolling_sea \d/);
      assert.ok(
        words.slice(1).some((each) => /^(raise_swell|lift_droplet) \(inlined\) \d/.test(each)),
        words.join("; "),
      );
      const sum = words.reduce((sum, each) => sum + Number(/([\d.]+)\s%/.exec(each)?.[1] ?? 0), 0);
      assert.ok(Math.abs(sum - 100) < 0.3, `${sum}`);
      await page.getByRole("combobox", { name: "Inlines" }).selectOption("merged");
      await inlined.waitFor({ state: "detached" });
      await tab.close();
    },
    { tier: "all" },
  );

  scene(
    "rows can be source files, DSOs or threads, and one of those all that is shown",
    async () => {
      const tab = await open({});
      const { page } = tab;
      await tab.view(/Functions/);
      const first = page.locator(".functions .row:not(.loading) .frame-name").first();
      for (const [group, pattern, header] of [
        ["Source files", /tides\.c$/, "Source file"],
        ["DSOs", /^tides$/, "DSO"],
        ["Threads", /tides/, "Thread"],
      ]) {
        await page.getByRole("button", { name: group, exact: true }).click();
        await page.getByRole("columnheader", { name: header, exact: true }).first().waitFor();
        await first.filter({ hasText: pattern }).waitFor();
      }
      await page.locator(".functions .row").first().click();
      await page.getByRole("button", { name: "Show only this thread" }).click();
      await page
        .locator(".filter-chip", { hasText: /Thread/ })
        .first()
        .waitFor();
      await tab.close();
    },
    { tier: "all" },
  );
});

describe("time order", () => {
  scene("one thread's stacks stand along time, and zoom and breadcrumb agree", async () => {
    const tab = await open({});
    const { page } = tab;
    await page.keyboard.press("1");
    const tree = page.getByRole("tree", { name: "Time order" });
    await tree.waitFor();
    const spoken = async (pattern) =>
      (
        await page.waitForFunction((source) => {
          const words = document.querySelector('[role=treeitem][aria-selected="true"]')?.ariaLabel ?? "";
          return new RegExp(source).test(words) && words;
        }, pattern.source)
      ).jsonValue();
    // A key that comes before the graph moves nothing.
    await tree.getByRole("treeitem").first().waitFor({ state: "attached" });
    await tree.focus();
    await page.keyboard.press("Home");
    const thread = await spoken(/samples$/);
    assert.match(thread, /^tides( \d+)?, 0\.\d+ s to [\d.]+ s, [\d.]+ m?s, [\d,]+ samples$/);
    await page.keyboard.press("End");
    const leaf = await spoken(/(matched|missing|embedded)/);
    const [, from, to] = / ([\d.]+) s to ([\d.]+) s/.exec(leaf);
    await page.keyboard.press("Enter");
    const where = page.locator(".time-order .breadcrumb strong");
    await page.waitForFunction(
      (from) => document.querySelector(".time-order .breadcrumb strong").textContent.includes(from),
      from,
    );
    assert.ok((await where.innerText()).includes(to), `${await where.innerText()} is not ${leaf}`);
    const all = page.locator(".time-order .breadcrumb .crumb", { hasText: "all" });
    await all.waitFor();
    // Of several narrow frames drawn as one, the room now shows the first.
    const several = /^\d+ narrow|narrow frame/.test(leaf);
    if (!several) assert.equal((await spoken(/./)).split(", ")[0], leaf.split(", ")[0], "the box is still selected");
    await tab.pictures("time-order-zoomed");
    await page.getByRole("tree").focus();
    await page.keyboard.press("0");
    await all.waitFor({ state: "detached" });
    await tab.pictures("time-order");
    await page.keyboard.press("t");
    await page.waitForFunction(() => document.activeElement.closest(".thread-chooser") !== null);
    await tab.close();
  });
});

describe("assistive technology", () => {
  for (const colorScheme of ["light", "dark"]) {
    scene(
      `axe finds nothing serious in any view, ${colorScheme}`,
      async () => {
        const tab = await open({ initPath: axe, colorScheme });
        const { page } = tab;
        const nothing = async (where) => assert.deepEqual(await tab.findings(), [], where);
        await page.getByRole("button", { name: "More options" }).click();
        await nothing("options of the flame graph");
        await page.keyboard.press("Escape");
        await tab.tree().focus();
        for (const key of ["Home", "ArrowDown", "ArrowDown", "Enter"]) await page.keyboard.press(key);
        await page.waitForSelector(".minimap");
        await nothing("zoomed flame graph");
        await page.keyboard.press("3");
        await page.locator(".functions .row", { hasText: "rolling_sea" }).first().click();
        await page.locator(".sandwich-band").waitFor();
        await nothing("functions with callers and callees");
        await page.getByRole("combobox", { name: "Show as" }).selectOption("tree");
        await page.getByRole("treegrid", { name: /^Callers of/ }).waitFor();
        await nothing("callers and callees as trees");
        await page.getByRole("button", { name: "Source files" }).click();
        await nothing("source files");
        await tab.view(/Call tree/);
        await page.locator(".call-tree .row").first().waitFor();
        await nothing("call tree");
        await tab.view(/Time order/);
        await page.getByRole("tree", { name: "Time order" }).waitFor();
        await nothing("time order");
        await tab.close();
      },
      { tier: "all" },
    );
  }
});
