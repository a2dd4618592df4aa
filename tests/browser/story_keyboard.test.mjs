// Without a pointer: a recording is opened, read, searched and shared by keys alone. And axe finds nothing serious on any
// screen, light and dark.
import assert from "node:assert/strict";
import { copyFileSync } from "node:fs";
import { describe } from "node:test";
import { seconds } from "./limits.mjs";
import { Parts } from "./recording.mjs";
import { afterScenes, beforeScenes, scene } from "./scene.mjs";
import { Tab, axe } from "./tab.mjs";

const parts = new Parts();
let recording;
let program;
let rebuilt;
let second;
let host;

beforeScenes(async () => {
  program = parts.compile(["tides"]);
  rebuilt = parts.compile(["rebuilt", "tides"], "-O2", "-DNEAP");
  recording = parts.record("tides.perf.data", ["-F", "999"], [program, "30"]);
  second = parts.path("second", "second.perf.data");
  copyFileSync(recording, second);
  host = await parts.host();
});

afterScenes(() => parts.end());

describe("10 keyboard and assistive technology", () => {
  scene("10a everything by keys", async () => {
    const tab = await Tab.open(host);
    const { page } = tab;
    const press = (...keys) => keys.reduce((before, key) => before.then(() => page.keyboard.press(key)), Promise.resolve());

    /** Goes on with Tab until this has the focus. */
    async function tabTo(locator) {
      for (let steps = 0; steps < 60; steps++) {
        await press("Tab");
        if (await locator.evaluate((element) => element === document.activeElement)) return;
      }
      assert.fail(`Tab never reaches ${locator}`);
    }

    /** The words for the selected frame, once they match. */
    async function spoken(pattern) {
      await page.waitForFunction(
        (source) => new RegExp(source).test(document.querySelector('[role=treeitem][aria-selected="true"]')?.ariaLabel ?? ""),
        pattern.source,
      );
      return tab.tree().locator('[aria-selected="true"]').getAttribute("aria-label");
    }

    await tabTo(page.getByRole("button", { name: /Choose files/ }));
    await tab.pictures("a21-focus-on-open-screen");
    await tab.pick(() => press("Enter"), recording);
    await tab.opened();
    await tab.pick(() => press("Control+o"), program);
    await tab.status("tides", "matched");

    await tabTo(tab.tree());
    await press("ArrowDown");
    await spoken(/^all, total 100\.0 percent/);
    await press("ArrowDown");
    await spoken(/^tides, total/);
    await press("ArrowDown");
    const below = await spoken(/^(?!tides, total|all,)/);
    await press("ArrowUp");
    await spoken(/^tides, total/);
    await press("ArrowDown");
    assert.equal(await spoken(/^(?!tides, total|all,)/), below);
    await press("End");
    // What is below may have samples of its own, too.
    const escaped = below.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
    const leaf = await spoken(new RegExp(`^(?!${escaped}).*self (?!0\\.0)`));
    await press("Enter");
    await page.locator(".breadcrumb [aria-current=location]", { hasText: leaf.split(",")[0] }).waitFor();
    await press("0");
    await page.locator(".breadcrumb [aria-current=location]").waitFor({ state: "detached" });
    await tab.pictures("a11-by-keys");

    await press("/");
    const field = page.getByRole("textbox", { name: "Search functions, DSOs, source files" });
    await page.locator(".search input:focus").waitFor();
    await page.keyboard.type("i");
    const found = page.locator(".search-result");
    await found.filter({ hasText: /^\d+ functions/ }).waitFor();
    await press("Enter");
    await found.filter({ hasText: /^1 of \d+ functions/ }).waitFor();
    await press("Enter");
    await found.filter({ hasText: /^2 of \d+ functions/ }).waitFor();
    await press("Shift+Enter");
    await found.filter({ hasText: /^1 of \d+ functions/ }).waitFor();
    await tab.settled();
    const matched = await spoken(/./);
    await press("Escape");
    assert.equal(await field.inputValue(), "");
    const hasFocus = (locator) => locator.evaluate((element) => element === document.activeElement);
    assert.ok(await hasFocus(tab.tree()), "Esc leaves the field for the graph");
    assert.equal(await spoken(/./), matched, "where the match stays selected");
    await press("ArrowUp");
    await page.waitForFunction(
      (matched) => document.querySelector('[role=treeitem][aria-selected="true"]')?.ariaLabel !== matched,
      matched,
    );

    for (const [key, view] of [
      ["3", page.getByRole("grid", { name: "Functions" })],
      ["4", page.getByRole("treegrid", { name: "Call tree" })],
      ["2", tab.tree()],
    ]) {
      await press(key);
      await view.waitFor();
      assert.ok(await hasFocus(view), "the focus goes with the view");
    }

    const share = page.getByRole("button", { name: "Share" });
    await tabTo(share);
    await press("Enter");
    const dialog = page.getByRole("dialog", { name: "Share this profile" });
    await dialog.getByText(/of \d+ call nodes/).waitFor();
    for (let steps = 0; steps < 12; steps++) {
      await press("Tab");
      assert.ok(
        await page.evaluate(
          () =>
            document.activeElement === document.body || document.querySelector("dialog[open]").contains(document.activeElement),
        ),
        "the focus stays within the dialog",
      );
    }
    await press("Escape");
    await dialog.waitFor({ state: "detached" });
    assert.ok(await share.evaluate((element) => element === document.activeElement), "and returns to where it was");

    await press("?");
    await page.getByRole("dialog", { name: /shortcuts/i }).waitFor();
    await tab.picture("10-shortcuts");
    await press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await tab.close();
  });

  scene(
    "10c undo ends where the profile was opened, and never leaves it",
    async () => {
      const tab = await Tab.open("about:blank", { spy: false });
      const { page } = tab;
      await page.goto(host);
      await tab.drop(recording);
      await tab.opened();
      const shown = (name) => page.getByRole("tab", { name, selected: true }).waitFor();
      const undo = () => page.keyboard.press("Control+z");
      const redo = () => page.keyboard.press("Control+Shift+z");
      await redo();
      await undo();
      await page.keyboard.press("3");
      await shown(/Functions/);
      await page.keyboard.press("4");
      await shown(/Call tree/);
      await undo();
      await shown(/Functions/);
      await undo();
      await shown(/Flame graph/);
      for (let presses = 0; presses < 3; presses++) await undo();
      await redo();
      await shown(/Functions/);
      assert.match(page.url(), /view=functions/);

      // Another profile in its place: the steps of the first are not its own.
      await tab.drop(second);
      await page.locator(".file-name", { hasText: "second" }).waitFor();
      const before = page.url();
      for (let presses = 0; presses < 3; presses++) await undo();
      await tab.settled();
      assert.equal(page.url(), before);
      // Back does leave it: for the first one, which the tab still has.
      await page.goBack();
      await page
        .locator(".file-name")
        .and(page.getByText(/^(?!.*second)/))
        .waitFor();
      await tab.close();
    },
    { tier: "all" },
  );

  // Of all scenes in which axe reads the page, the one that is in the fast tier: the main states, in light.
  for (const [colorScheme, tier] of [
    ["light", "fast"],
    ["dark", "all"],
  ]) {
    scene(
      `10b axe finds nothing serious, ${colorScheme}`,
      async () => {
        const tab = await Tab.open(host, { colorScheme, initPath: axe });
        const { page } = tab;
        const all = {};
        const look = async (screen) => {
          const found = await tab.findings();
          if (found.length > 0) all[screen] = found;
        };
        await look("open screen");
        await tab.drop(recording);
        await tab.opened();
        await look("flame graph");
        await tab.drop(rebuilt);
        await tab.status("tides", "mismatched");
        await look("a refused binary");
        await page.getByRole("button", { name: "Why?" }).click();
        await page.locator(".explanation").waitFor();
        await look("full ledger");
        await page.keyboard.press("Escape");
        await tab.drop(program);
        await tab.status("tides", "matched");
        await tab.select("rolling_sea");
        await look("selection and search");
        await page.keyboard.press("Escape");
        await tab.view(/Functions/);
        await page.locator(".row:not(.loading)").first().waitFor();
        await look("functions");
        await tab.view(/Call tree/);
        await page.locator(".row").first().waitFor();
        await look("call tree");
        await page.getByRole("button", { name: "Share" }).click();
        const dialog = page.getByRole("dialog", { name: "Share this profile" });
        await dialog.getByText(/of \d+ call nodes/).waitFor();
        await look("share: link");
        await dialog.getByRole("button", { name: "Page", exact: true }).click();
        await look("share: page");
        await dialog.getByRole("button", { name: "Export", exact: true }).click();
        await look("share: export");
        await page.keyboard.press("Escape");
        await page.setViewportSize({ width: 420, height: 860 });
        await look("phone");
        await page.setViewportSize({ width: 1440, height: 900 });
        await page.getByRole("button", { name: "Menu" }).click();
        await page.getByRole("button", { name: "About this profile" }).click();
        await page.getByRole("dialog", { name: "About this profile" }).waitFor();
        await look("about");
        assert.deepEqual(all, {});
        await tab.close();
      },
      { tier, limit: seconds(180) },
    ); // axe reads the page thirteen times.
  }
});
