// Code without a name: one of each DSO in all views, until somebody wants each address.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { Frame, chip, count } from "./frame.mjs";
import { eventually, scene } from "./scene.mjs";
import { QUERY, Tab } from "./tab.mjs";

const frame = new Frame();

async function opened(fragment = "", options = {}) {
  const tab = await Tab.open(frame.host + fragment, options);
  await tab.drop(frame.recording);
  await tab.opened();
  return tab;
}

/** What a query shows of the program's code without a name: its rows, and what the whole profile weighs. */
async function rowsOf(tab, dso, query) {
  const request = { query, order: { key: "self", direction: "descending" }, groupBy: "function", from: 0, to: 5000 };
  const rows = await tab.ask("functions", request);
  const at = rows.dsos.flatMap((of, place) => (of === dso ? [place] : []));
  return at.map((place) => ({ name: rows.names[place], self: rows.self[place], share: rows.self[place] / rows.allTotal }));
}

describe("code without a name", () => {
  scene("a28 is one of each DSO in every view, and each address where that is chosen", async () => {
    const tab = await opened();
    const { page } = tab;
    const each = await rowsOf(tab, "tides", QUERY);
    const one = await rowsOf(tab, "tides", { ...QUERY, unnamed: "one-per-dso" });
    assert.ok(each.length > 3 && each.every(({ name }) => /^0x[0-9a-f]+$/.test(name)));
    assert.equal(one.length, 1);
    const sum = each.reduce((sum, { self }) => sum + self, 0);
    assert.equal(one[0].self, sum, "it has what all of them have");
    const name = `tides, ${count(each.length)} addresses`;
    assert.equal(one[0].name, name);

    // The graph, and what is read out of it.
    const spoken = page.locator('[role=treeitem][aria-selected="true"]');
    await tab.select("tides");
    await spoken.and(page.locator(`[aria-label^="${name}, no symbols, missing, total "]`)).waitFor();
    await tab.pictures("a28-graph", { sheet: "full" });
    // The table.
    await tab.view(/Functions/);
    const rows = page.locator(".functions .row:not(.loading)", { has: page.locator(".dso", { hasText: /^tides$/ }) });
    await eventually(async () => assert.deepEqual(await rows.locator(".frame-name").allInnerTexts(), [name]));
    await rows.first().click();
    await page.locator(".sandwich-band strong", { hasText: name }).waitFor();
    await tab.pictures("a28-functions");
    // Its instructions are those of all addresses.
    const draw = page.getByRole("combobox", { name: "Show as" });
    await draw.selectOption("lines");
    await page.locator(".hot-grid .row").first().waitFor();
    await draw.selectOption("flame");
    // The call tree, and the search.
    await tab.view(/Call tree/);
    await page.getByRole("button", { name: "Expand hottest path" }).click();
    await page.locator(".row .frame-name", { hasText: name }).first().waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("dso:tides");
    await page.locator(".search-result", { hasText: /^1 function, / }).waitFor();
    await page.keyboard.press("Escape");

    // One setting for all of them.
    await tab.option("Unnamed code", "each address");
    await page.waitForFunction(() => location.hash.includes("unnamed=each-address"));
    await tab.view(/Functions/);
    await rows
      .locator(".frame-name", { hasText: /^0x[0-9a-f]+$/ })
      .first()
      .waitFor();
    await tab.view(/Flame graph/);
    await page.keyboard.press("Home");
    await tab.pictures("a28-each-address", { sheet: "full" });
    await tab.option("Unnamed code", "one per DSO");
    await page.waitForFunction(() => !location.hash.includes("unnamed"));
    await tab.close();
  });

  scene(
    "a28 can be dropped and shared as one, and what a step names by its address stays apart",
    async () => {
      const tab = await opened();
      const { page } = tab;
      const all = frame.stacks.length;
      await tab.view(/Functions/);
      const rows = page.locator(".functions .row:not(.loading)", { has: page.locator(".dso", { hasText: /^tides$/ }) });
      await rows.first().click();
      await page.keyboard.press("D");
      await chip(tab, "Drop function tides, unnamed code").waitFor();
      await tab.settled();
      const without = Number((await page.locator(".showing strong").innerText()).replaceAll(",", ""));
      assert.ok(without < all, `${without} of ${all}`);
      await rows.first().waitFor({ state: "detached" });
      // Whoever opens the address sees the same.
      const other = await opened(await page.evaluate(() => location.hash.replace("view=functions&", "")));
      await frame.showing(other, without);
      await other.close();
      await page.locator(".undo-button").click();
      await frame.showing(tab, all);

      // A link keeps each address, and shows them as one.
      const link = await tab.ask("share", {
        base: "https://perftab.invalid/",
        budget: 65_536,
        options: { privacy: {}, query: null, own: [], view: "", title: "" },
      });
      const shared = await Tab.open(`${frame.host}#${link.payload}`);
      await shared.opened();
      const [one] = await rowsOf(shared, "tides", { ...QUERY, unnamed: "one-per-dso" });
      assert.ok(one.share > 0.1);
      assert.ok((await rowsOf(shared, "tides", QUERY)).length > 3);
      await shared.close();

      // What a step names by its address stays apart.
      await page.keyboard.press("Escape");
      await tab.option("Unnamed code", "each address");
      await rows.first().click();
      const address = await page.locator(".sandwich-band strong").innerText();
      assert.match(address, /^0x/);
      await page.keyboard.press("f");
      await chip(tab, `Focus tides+${address}`).waitFor();
      await tab.settled();
      const focused = await page.locator(".showing strong").innerText();
      await tab.option("Unnamed code", "one per DSO");
      await page.waitForFunction(() => !location.hash.includes("unnamed"));
      await tab.settled();
      assert.equal(await page.locator(".showing strong").innerText(), focused, "the step has the same effect");
      await rows.locator(".frame-name", { hasText: address }).waitFor();
      await tab.close();
    },
    { tier: "all" },
  );
});
