// Keys by focus, and the palette: every command that has a key does what it says, where it says so.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { Frame, chips, selectIn } from "./frame.mjs";
import { eventually, scene } from "./scene.mjs";

const frame = new Frame();

describe("a14 keys", () => {
  scene("a14 every command that has a key is listed, and does what it says", async () => {
    const tab = await frame.opened();
    const { page } = tab;
    const selected = (name) => page.getByRole("tab", { name, selected: true }).waitFor();
    const press = (key) => page.keyboard.press(key);
    for (const focus of ["view", "nowhere"]) {
      if (focus === "view") await tab.tree().focus();
      else await page.evaluate(() => document.activeElement?.blur());
      await press("3");
      await selected(/Functions/);
      await press("4");
      await selected(/Call tree/);
      await press("5");
      await selected(/Source/);
      await press("1");
      await selected(/Time order/);
      await press("t");
      await page.locator(".thread-chooser select:focus").waitFor();
      await tab.tree().focus();
      await tab.settled();
      const shownThread = () => page.locator(".thread-chooser select").inputValue();
      const first = await shownThread();
      await press("n");
      await page.waitForFunction((first) => document.querySelector(".thread-chooser select")?.value !== first, first);
      await press("p");
      await page.waitForFunction((first) => document.querySelector(".thread-chooser select")?.value === first, first);
      await press("6");
      await selected(/Heat map/);
      await press("2");
      await selected(/Flame graph/);
      if (focus === "view") await tab.tree().focus();
      const dockOpen = () => page.locator(".dock").count();
      const before = await dockOpen();
      await press("l");
      await page.waitForFunction((before) => document.querySelectorAll(".dock").length !== before, before);
      await press("l");
      await page.waitForFunction((before) => document.querySelectorAll(".dock").length === before, before);
      await press("i");
      await page.getByRole("button", { name: "Inverted", pressed: true }).waitFor();
      await press("Control+z");
      await page.getByRole("button", { name: "Callees", pressed: true }).waitFor();
      await press("/");
      await page.locator(".search input:focus").waitFor();
      await press("Escape");
      await press("Control+f");
      await page.locator(".search input:focus").waitFor();
      await press("Escape");
      for (const key of ["Control+p", "Control+k"]) {
        await press(key);
        await page.getByRole("combobox", { name: "Commands" }).waitFor();
        await press("Escape");
        await page.getByRole("listbox").waitFor({ state: "detached" });
      }
      await press("Control+s");
      await page.getByRole("dialog", { name: "Share this profile" }).waitFor();
      await press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
      await tab.pick(() => press("Control+o"));
      await press("?");
      await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
      await press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
    }
    await press("?");
    const keys = await page.getByRole("dialog").locator("kbd").allInnerTexts();
    for (const key of [
      "1",
      "2",
      "3",
      "4",
      "5",
      "6",
      "/",
      "Ctrl F",
      "Ctrl P",
      "Ctrl K",
      "Ctrl O",
      "Ctrl S",
      "?",
      "l",
      "e",
      "t",
      "n",
      "p",
      "Ctrl Z",
      "Ctrl Shift Z",
      "Esc",
      "w",
      "s",
      "a",
      "d",
      "+",
      "−",
      "0",
      "f",
      "F",
      "m",
      "M",
      "c",
      "C",
      "r",
      "*",
      "i",
      "[",
      "]",
      "Enter",
      "Backspace",
    ]) {
      assert.ok(keys.includes(key), `${key} is listed`);
    }
    await tab.pictures("a14-shortcuts");
    await tab.close();
  });

  scene("a41 a profile that opens has its keys at once, and the view's number leads back to it", async () => {
    const tab = await frame.opened();
    const { page } = tab;
    const selected = page.locator('[role=treeitem][aria-selected="true"]');
    await page.keyboard.press("ArrowDown");
    await selected.waitFor();
    // The innermost call of the hottest path, and zoomed into.
    await page.keyboard.press("End");
    await page.locator('[role=treeitem][aria-selected="true"]:not([aria-level="1"])').waitFor();
    await page.keyboard.press("Enter");
    await page.locator(".minimap").waitFor();
    // Beside w, a and s it moves, and drops nothing.
    await page.keyboard.press("d");
    await tab.settled();
    assert.equal(await page.locator(".filter-chip").count(), 0);
    await page.locator(".search input").focus();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Share" }).focus();
    await page.keyboard.press("2");
    assert.ok(await tab.tree().evaluate((tree) => tree === document.activeElement));
    await tab.close();
  });

  scene("a14 a view that a key shows has the keys, also where what had them is gone with the view before", async () => {
    const tab = await frame.opened();
    const { page } = tab;
    // Beside functions there is no ledger.
    await page.getByRole("button", { name: "Add files…" }).focus();
    await page.keyboard.press("3");
    await page.locator("#view [role=grid]:focus").waitFor();
    await page.locator(".search input").focus();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Share" }).focus();
    await page.keyboard.press("2");
    await page.locator("#view [role=tree]:focus").waitFor();
    await tab.close();
  });

  scene(
    "a14 where time has the focus, letters are moves in time and change no stack",
    async () => {
      const tab = await frame.opened();
      const { page } = tab;
      await selectIn(tab, "rolling_sea");
      for (const [key, view, place] of [
        ["2", /Flame graph/, '.timeline-region [role="row"][tabindex="0"]'],
        ["6", /Heat map/, '.heat-map [role="grid"]'],
      ]) {
        await page.keyboard.press(key);
        await page.getByRole("tab", { name: view, selected: true }).waitFor();
        await page.locator(place).first().focus();
        for (const move of ["d", "a", "w", "s", "+", "-", "0", "[", "]", "m", "M", "c", "C", "r", "F", "i"])
          await page.keyboard.press(move);
        await tab.settled();
        assert.equal(await chips(tab).count(), 0, `${place}: nothing is dropped or merged`);
        assert.doesNotMatch(page.url(), /direction|step/);
        await page.keyboard.press("3");
        await page.getByRole("tab", { name: /Functions/, selected: true }).waitFor();
      }
      await tab.close();
    },
    { tier: "all" },
  );

  scene("a14 inside text fields a key is a letter, and keys without Ctrl can be switched off", async () => {
    const tab = await frame.opened();
    const { page } = tab;
    await selectIn(tab, "rolling_sea");
    const letters = "mMfFdcCri*?letnpws+-0123456[]";
    await page.keyboard.press("/");
    await page.keyboard.type(letters);
    assert.equal(await page.locator(".search input").inputValue(), letters);
    await tab.settled();
    assert.equal(await chips(tab).count(), 0);
    await page.getByRole("tab", { name: /Flame graph/, selected: true }).waitFor();
    assert.equal(await page.getByRole("dialog").count(), 0);
    await page.keyboard.press("Escape");

    await page.getByRole("button", { name: "Menu" }).click();
    await page.getByRole("group", { name: "Single-key shortcuts" }).getByRole("button", { name: "Off" }).click();
    await page.keyboard.press("Escape");
    await tab.tree().focus();
    for (const key of ["3", "d", "m", "?", "/", "i", "l"]) await page.keyboard.press(key);
    await tab.settled();
    await page.getByRole("tab", { name: /Flame graph/, selected: true }).waitFor();
    assert.equal(await chips(tab).count(), 0);
    assert.equal(await page.locator("dialog, .search input:focus").count(), 0);
    await page.getByRole("button", { name: "Callees", pressed: true }).waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Control+k");
    await page.keyboard.type("single");
    await page.getByRole("option", { name: /Single-key/, selected: true }).waitFor();
    await page.keyboard.press("Enter");
    await page.keyboard.press("3");
    await page.getByRole("tab", { name: /Functions/, selected: true }).waitFor();
    await tab.close();
  });

  scene(
    "a14 the palette finds buttons and options by name",
    async () => {
      const tab = await frame.opened();
      const { page } = tab;
      await page.keyboard.press("Control+p");
      const list = page.getByRole("listbox", { name: "Commands" });
      await list.waitFor();
      const all = await list.getByRole("option").count();
      assert.ok(all > 20, `${all} commands`);
      await tab.pictures("a14-palette");
      await page.keyboard.type("call tr");
      await page.waitForFunction((all) => document.querySelectorAll("[role=option]").length < all, all);
      await eventually(async () => {
        const active = await page.getByRole("combobox", { name: "Commands" }).getAttribute("aria-activedescendant");
        assert.match(await page.locator(`[id="${active}"]`).innerText(), /^Call tree/);
      });
      await page.keyboard.press("Enter");
      await page.getByRole("tab", { name: /Call tree/, selected: true }).waitFor();
      await eventually(async () =>
        assert.equal(await page.locator(".search input").inputValue(), "", "the field is a search again"),
      );
      await page.keyboard.press("Control+k");
      await page.keyboard.type("no such command at all");
      await page.getByText(/No command matches/).waitFor();
      await page.keyboard.press("Escape");
      await list.waitFor({ state: "detached" });
      await tab.close();
    },
    { tier: "all" },
  );
});
