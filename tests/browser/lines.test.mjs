// Where in a function its weight lies: lines and instructions beside the functions, over a real recording.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe } from "node:test";
import { Parts, linesOf, tidesSource } from "./recording.mjs";
import { afterScenes, beforeScenes, eventually, scene } from "./scene.mjs";
import { QUERY, Tab, axe } from "./tab.mjs";

const parts = new Parts();
let host;
let program;
let recording;

beforeScenes(async () => {
  program = parts.compile(["tides"]);
  recording = parts.record("tides.perf.data", ["-F", "4999"], [program, "30"]);
  host = await parts.host();
});

afterScenes(() => parts.end());

async function open(options = {}, fragment = "") {
  const tab = await Tab.open(host + fragment, options);
  await tab.drop(recording, program);
  await tab.page.locator(".file-name", { hasText: "tides.perf.data" }).waitFor();
  await tab.status("tides", "matched");
  await tab.settled();
  return tab;
}

const lines = (page) => page.getByRole("grid", { name: /^Source lines of/ });
const instructions = (page) => page.getByRole("grid", { name: /^Instructions of/ });
const words = (text) => text.replaceAll(/\s/g, " ");
const sum = (rows) => rows.reduce((all, { weight }) => all + weight, 0);

/** The number of the function of this name. */
async function functionNamed(tab, name) {
  const ids = await tab.ask("functions", { query: QUERY, order: { key: "total", direction: "descending" }, from: 0, to: 40 });
  for (const functionId of ids.functionId) {
    if ((await tab.ask("functionRef", { functionId })).name === name) return functionId;
  }
  throw new Error(`no function is called ${name}`);
}

/** Chooses the lines of a function in the table of functions. */
async function showLines(tab, name) {
  await tab.view(/Functions/);
  // By total it is among the first, of which alone there are rows in the document.
  await tab.page.locator(".functions .sort", { hasText: "Total" }).click();
  // While the new order is under way, a row that is found may be another one when it is clicked.
  await tab.settled();
  await tab.page.locator(".functions .row:not(.loading)", { hasText: name }).first().click();
  await tab.page.locator(".sandwich-band", { hasText: name }).waitFor();
  await tab.page.getByRole("combobox", { name: "Show as" }).selectOption("lines");
  await lines(tab.page).waitFor();
}

describe("lines of a function", () => {
  scene("a15 lines and instructions add up to the function's own code, whatever is filtered", async () => {
    const tab = await open();
    const functions = (await tab.functions())
      .filter(({ self }) => self > 0)
      .sort((a, b) => b.self - a.self)
      .slice(0, 12);
    const ids = await tab.ask("functions", { query: QUERY, order: { key: "self", direction: "descending" }, from: 0, to: 12 });
    assert.equal(functions.length, 12);
    const { time } = await tab.ask("info");
    const third = Math.floor((time.end - time.start) / 3);
    const drop = { kind: "drop", function: await tab.ask("functionRef", { functionId: ids.functionId[1] }) };
    const merge = { ...drop, kind: "merge" };
    const queries = [
      {},
      { range: { start: third, end: 2 * third, side: "inside" } },
      { steps: [drop] },
      { steps: [merge] },
      { inlines: "merged" },
    ];
    let compared = 0;
    for (const more of queries) {
      for (const functionId of ids.functionId) {
        const query = { ...QUERY, ...more };
        const reference = await tab.ask("functionRef", { functionId });
        const facts = await tab.ask("sandwich", { query, function: reference });
        const heat = await tab.ask("hotLines", { query, function: reference });
        assert.equal(heat === null, facts === null, reference.name);
        if (facts === null) continue;
        const own = facts.ownCodeWeight;
        assert.equal(heat.self.weight, own, reference.name);
        assert.equal(sum(heat.lines) + heat.leftOut.weight, own, `lines of ${reference.name}`);
        assert.equal(sum(heat.instructions) + heat.instructionsLeftOut.weight, own, `instructions of ${reference.name}`);
        compared += own > 0 ? 1 : 0;
      }
    }
    assert.ok(compared > 40, `${compared} had code of their own`);
    await tab.close();
  });

  scene("a15 the table has every line of the source that is hot, and marks what belongs together", async () => {
    const tab = await open({ initPath: axe });
    const { page } = tab;
    await showLines(tab, "rolling_sea");
    const reference = { dso: null, name: "rolling_sea", address: null };
    reference.dso = (await tab.ask("dsos"))
      .filter(({ name }) => name === "tides")
      .map(({ path, build_id }) => ({ path, buildId: build_id }))[0];
    const heat = await tab.ask("hotLines", { query: QUERY, function: reference });
    const { first, last } = linesOf("rolling_sea");
    assert.ok(
      heat.lines.every(({ line }) => line >= first && line <= last),
      "what is inlined stands where it is inlined",
    );
    assert.equal(await lines(page).getAttribute("aria-rowcount"), String(heat.lines.length + 1));
    await tab.settled();
    const rows = await lines(page).locator(".rows-body .row").allInnerTexts();
    assert.equal(rows.length, heat.lines.length);
    heat.lines.forEach(({ line, weight }, index) => {
      const share = (weight / heat.self.weight) * 100;
      const shown = share >= 0.05 ? `${share.toFixed(1)} %` : "< 0.1 %";
      assert.ok(words(rows[index]).startsWith(shown), `${rows[index]}: ${shown}`);
      assert.ok(rows[index].includes(`tides.c:${line}`), rows[index]);
    });

    const hottest = heat.lines.reduce((most, each, index) => (each.weight > heat.lines[most].weight ? index : most), 0);
    await lines(page).locator(".rows-body .row").nth(hottest).click();
    const own = heat.instructions.filter(({ lineRow }) => lineRow === hottest).map(({ address }) => address);
    const marked = async () =>
      (await instructions(page).locator(".row.selected .code").allInnerTexts()).map((text) => text.split(/\s/)[0]);
    await page.waitForFunction(() => document.querySelector(".hot-instructions .row.selected") !== null);
    await eventually(async () => {
      const seen = await marked();
      assert.ok(seen.length > 0 && seen.every((address) => own.includes(address)), `${seen} of ${own}`);
    });

    // And back: an instruction marks its line.
    await instructions(page).focus();
    for (const [key, { address, line }] of [
      ["End", heat.instructions.at(-1)],
      ["ArrowUp", heat.instructions.at(-2)],
    ]) {
      await page.keyboard.press(key);
      const only = instructions(page).locator(".row.selected");
      await only.filter({ hasText: address }).waitFor();
      await eventually(async () => assert.equal(await only.count(), 1));
      await lines(page)
        .locator(".row.selected", { hasText: `tides.c:${line}` })
        .waitFor();
    }
    assert.deepEqual(await tab.findings(), []);

    await page.keyboard.press("Escape");
    await page.waitForFunction(() => document.querySelector(".hot-grid .row.selected") === null);
    await page.getByRole("combobox", { name: "Show as" }).selectOption("flame");
    await page.getByRole("tree", { name: "Callees of rolling_sea" }).waitFor();
    await tab.close();
  });

  scene(
    "a15 keys go from one hot line to the next and back, and the address says all of it",
    async () => {
      const tab = await open();
      const { page } = tab;
      // All of its few lines are hot.
      await showLines(tab, "order_by_height");
      await tab.settled();
      const count = await lines(page).locator(".rows-body .row").count();
      assert.ok(count > 1, `${count} lines`);
      const selected = async () => lines(page).locator(".row.selected .code").first().innerText();
      await lines(page).focus();
      await page.keyboard.press("]");
      await lines(page).locator(".row.selected").waitFor();
      const first = await selected();
      await page.keyboard.press("]");
      await page.waitForFunction((first) => document.querySelector(".hot-lines .row.selected .code").innerText !== first, first);
      await page.keyboard.press("[");
      await page.waitForFunction((first) => document.querySelector(".hot-lines .row.selected .code").innerText === first, first);

      const fragment = await eventually(async () => {
        const hash = await page.evaluate(() => location.hash);
        assert.match(hash, /view=functions&.*lines=order_by_height;0/);
        return hash;
      });
      // Another function's lines, and back to callers and callees, are steps of the history.
      await page.getByRole("combobox", { name: "Show as" }).selectOption("tree");
      await page.getByRole("treegrid", { name: "Callers of order_by_height" }).waitFor();
      await page.goBack();
      await lines(page).waitFor();
      await page.locator(".functions .row:not(.loading)", { hasText: "rolling_sea" }).first().click();
      await page.getByRole("grid", { name: "Source lines of rolling_sea" }).waitFor();
      await page.waitForFunction(() => location.hash.includes("lines=rolling_sea;0"));
      await tab.close();

      const again = await open({}, fragment);
      await again.page.getByRole("grid", { name: "Source lines of order_by_height" }).waitFor();
      await again.page.locator(".functions .row.selected", { hasText: "order_by_height" }).waitFor();
      await again.close();
    },
    { tier: "all" },
  );

  scene(
    "a15 the selection and the commands lead there",
    async () => {
      const tab = await open();
      const { page } = tab;
      const panel = await tab.select("rolling_sea");
      await panel.getByRole("button", { name: "Lines", exact: true }).click();
      await page.getByRole("grid", { name: "Source lines of rolling_sea" }).waitFor();
      await page.keyboard.press("Escape");
      await tab.view(/Flame graph/);
      await tab.select("order_by_height");
      await page.keyboard.press("Control+p");
      await page.keyboard.type("lines of this");
      await page.getByRole("option", { name: /^Show lines of this function/ }).waitFor();
      await page.keyboard.press("Enter");
      await page.getByRole("grid", { name: "Source lines of order_by_height" }).waitFor();
      await tab.close();
    },
    { tier: "all" },
  );

  scene(
    "a15 without the program there are addresses, and what to drop is said",
    async () => {
      const tab = await Tab.open(`${host}#s2&unnamed=each-address`, { initPath: axe });
      const { page } = tab;
      await tab.drop(recording);
      await tab.opened();
      await tab.view(/Functions/);
      const dso = page.locator(".dso", { hasText: /^tides$/ });
      await page.locator(".functions .row:not(.loading)", { has: dso }).first().click();
      await page.getByRole("combobox", { name: "Show as" }).selectOption("lines");
      await instructions(page).waitFor();
      assert.equal(await lines(page).count(), 0);
      const note = page.getByRole("note");
      await eventually(async () => {
        assert.match(
          words(await note.first().innerText()),
          /^No file matches tides, so there are only addresses\. Add tides or its \.debug file\.$/,
        );
      });
      assert.deepEqual(await tab.findings(), []);
      await tab.pictures("a15-addresses");
      await tab.drop(program);
      await lines(page).waitFor();
      await tab.close();
    },
    { tier: "all" },
  );

  scene(
    "a15 a link has the same lines and instructions, as far as they are told",
    async () => {
      const sender = await open();
      const hottest = async (tab) => {
        const ids = await tab.ask("functions", { query: QUERY, order: { key: "self", direction: "descending" }, from: 0, to: 6 });
        const heat = [];
        for (const functionId of ids.functionId) {
          const reference = await tab.ask("functionRef", { functionId });
          const found = await tab.ask("hotLines", { query: QUERY, function: reference });
          // Folders are not told.
          heat.push({
            name: reference.name,
            ...found,
            lines: found.lines.map((row) => ({ ...row, file: row.file?.split("/").at(-1) ?? null })),
          });
        }
        return heat;
      };
      const sent = await hottest(sender);
      const payloads = [];
      for (const privacy of [{}, { addresses: "left-out" }, { files: "left-out" }]) {
        payloads.push((await sender.ask("share", { budget: 65_536, base: "", options: { privacy } })).payload);
      }
      await sender.close();

      const [whole, bare, hidden] = await Promise.all(
        payloads.map(async (payload) => {
          const tab = await Tab.open(`${host}#${payload}`);
          await tab.opened();
          const heat = await hottest(tab);
          await tab.close();
          return heat;
        }),
      );
      // A busy machine may leave few samples to each function.
      assert.ok(sent.flatMap(({ lines }) => lines).length > 3);
      assert.ok(sent.flatMap(({ instructions }) => instructions).length > 3);
      assert.deepEqual(whole, sent);
      // Without addresses code without a name is another row, so functions are found by name.
      const named = sent.filter(({ name, lines }) => name !== null && lines.length > 0);
      assert.ok(named.length > 0);
      for (const { name, self, lines, instructions } of named) {
        const without = bare.find((other) => other.name === name);
        assert.deepEqual([without.lines, without.instructions, without.instructionsLeftOut], [lines, [], self], name);
        const fileless = hidden.find((other) => other.name === name);
        assert.deepEqual(
          fileless.instructions.map(({ address, weight }) => [address, weight]),
          instructions.map(({ address, weight }) => [address, weight]),
          name,
        );
        assert.deepEqual([fileless.lines, fileless.leftOut], [[], self], name);
      }
    },
    { tier: "all" },
  );

  scene(
    "a15 what stands there comes with a link that tells it, and goes on only if it is ticked",
    async () => {
      const file = parts.path("told.txt");
      parts.perftab("share", recording, "--include", "source,assembly", "--times", "none", "--base", host, "-o", file);
      const tab = await Tab.open(readFileSync(file, "utf8").trim());
      await tab.opened();
      const { page } = tab;
      await showLines(tab, "rolling_sea");
      const source = readFileSync(tidesSource, "utf8").split("\n");
      await tab.settled();
      const rows = await lines(page)
        .locator(".code")
        .evaluateAll((cells) => cells.map((cell) => [cell.innerText, cell.querySelector("code")?.textContent ?? null]));
      const told = rows.filter(([, text]) => text !== null);
      assert.ok(told.length > 0, JSON.stringify(rows));
      for (const [row, text] of told) {
        const [, number] = /^(?:\S+:)?(\d+)/.exec(row.trim());
        assert.equal(text, source[number - 1].trim().replaceAll("\t", "    "), row);
      }
      // Columns of x86 or arm64: a mnemonic, and mostly operands.
      const code = await instructions(page).locator(".code code").allTextContents();
      assert.ok(code.length > 3 && code.every((text) => /^[a-z][a-z0-9.]*( \S|$)/.test(text)), JSON.stringify(code));
      await tab.pictures("a15-texts");

      await page.getByRole("button", { name: "Share", exact: true }).click();
      const dialog = page.getByRole("dialog", { name: "Share this profile" });
      const link = async () => {
        await dialog.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
        await dialog.getByRole("button", { name: "Copy link" }).and(dialog.locator(":enabled")).waitFor();
        return dialog.getByRole("textbox", { name: "The link" }).innerText();
      };
      const textsIn = async (address) => {
        const fresh = await Tab.open(host + address.slice(address.indexOf("#")));
        // It opens where its sender was: at functions, without a flame graph.
        await fresh.page.locator(".functions").waitFor();
        await fresh.settled();
        const reference = await fresh.ask("functionRef", { functionId: await functionNamed(fresh, "rolling_sea") });
        const found = await fresh.ask("hotLines", { query: QUERY, function: reference });
        await fresh.close();
        return [found.lines, found.instructions].map((rows) => rows.some(({ text }) => text !== null));
      };
      const [sourceTick, assemblyTick] = [/^Text of hot source lines/, /^Text of hot instructions/].map((name) =>
        dialog.getByRole("checkbox", { name }),
      );
      assert.deepEqual([await sourceTick.isChecked(), await assemblyTick.isChecked()], [false, false]);
      assert.deepEqual(await textsIn(await link()), [false, false]);
      const kept = dialog.getByRole("region", { name: /keeps/ }).getByRole("listitem").filter({ hasText: "Text of" });
      await eventually(async () =>
        assert.match(await kept.innerText(), /Left out:\s+Text of hot lines and instructions\s+not ticked/),
      );
      await sourceTick.check();
      assert.deepEqual(await textsIn(await link()), [true, false]);
      await assemblyTick.check();
      assert.deepEqual(await textsIn(await link()), [true, true]);
      await eventually(async () => assert.match(await kept.innerText(), /^Text of [1-9]\d* hot lines, [1-9]\d* instructions/));
      await tab.picture("share-texts");
      await tab.close();

      // A link without any has none to tell, so there is nothing to tick.
      const bare = parts.path("bare.txt");
      parts.perftab("share", recording, "--base", host, "-o", bare);
      const own = await Tab.open(readFileSync(bare, "utf8").trim());
      await own.opened();
      await own.page.getByRole("button", { name: "Share", exact: true }).click();
      await own.page.getByRole("checkbox", { name: /^Source files/ }).waitFor();
      assert.equal(await own.page.getByRole("checkbox", { name: /^Text of hot/ }).count(), 0);
      await own.close();
    },
    { tier: "all" },
  );

  scene(
    "a15 are usable by anybody, in every size and theme",
    async () => {
      const tab = await open({ initPath: axe });
      await showLines(tab, "rolling_sea");
      await lines(tab.page).focus();
      await tab.page.keyboard.press("]");
      assert.deepEqual(await tab.findings(), []);
      await tab.pictures("a15-lines");
      await tab.page.emulateMedia({ forcedColors: "active" });
      await tab.picture("a15-lines-forced-colours");
      await tab.page.emulateMedia({ forcedColors: "none" });
      await tab.close();
    },
    { tier: "all" },
  );
});
