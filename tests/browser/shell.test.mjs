// The frame around the views: chips that say what they take away, undo, keys by focus, the palette, menus, and what people
// need who use no mouse, want no motion, or set their own colours and sizes. Numbers are checked against what perf prints.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { after, before, describe } from "node:test";
import { Parts } from "./recording.mjs";
import { Tab, axe, scene } from "./tab.mjs";

const parts = new Parts();
let host;
let program;
let recording;
/** Of each sample, the names of the functions on its stack, as perf has them. */
let stacks;

before(async () => {
  program = parts.compile(["tides"]);
  recording = parts.record("tides.perf.data", ["-F", "999"], ["sh", "-c", `${program} 20; ls -lR /usr/share > ${parts.path("listing")}`]);
  stacks = stacksByPerf(recording);
  host = await parts.host();
});

after(() => parts.end());

function stacksByPerf(file) {
  const output = execFileSync("perf", ["script", "-i", file, "--no-inline", "-F", "comm,pid,ip,sym"], { encoding: "utf8", maxBuffer: 1 << 30 });
  return output.split(/\n\s*\n/).filter((block) => block.trim() !== "").map((block) => {
    const [head, ...frames] = block.trim().split("\n");
    const [, comm, pid] = /^(.*?)\s+(\d+)$/.exec(head.trim());
    return { comm, pid: Number(pid), names: frames.map((line) => line.trim().replace(/^[0-9a-f]+ /, "").replace(/\+0x[0-9a-f]+$/, "")) };
  });
}

const count = (number) => number.toLocaleString("en-US");
const withFunction = (name) => stacks.filter(({ names }) => names.includes(name)).length;

/** A tab with the recording, and the program that names it. */
async function opened(options = {}, fragment = "") {
  const tab = await Tab.open(host + fragment, options);
  await tab.drop(recording);
  await tab.opened();
  await tab.drop(program);
  await tab.page.locator(".toast", { hasText: "Used 1 of 1 file: tides." }).waitFor();
  await tab.settled();
  return tab;
}

/** Waits until the bar says that so many samples are shown. */
async function showing(tab, samples) {
  const words = `Showing ${count(samples)} of ${count(stacks.length)} samples, `;
  await tab.page.locator(".showing", { hasText: words }).waitFor();
}

const chips = (tab) => tab.page.locator(".filter-chip");
const chip = (tab, text) => chips(tab).filter({ hasText: text });

/** Selects a function's heaviest call, and gives the focus to the graph. */
async function selectIn(tab, name) {
  await tab.select(name);
  await tab.page.keyboard.press("/");
  await tab.page.keyboard.press("Escape");
  await tab.page.waitForFunction(() => document.activeElement?.getAttribute("role") === "tree");
}

describe("context bar", () => {
  scene("chips say what is shown, and undo takes each step back", async () => {
    const tab = await opened();
    const { page } = tab;
    await showing(tab, stacks.length);
    const dropped = withFunction("rolling_sea");
    assert.ok(dropped > 0, "perf finds the function");

    await selectIn(tab, "rolling_sea");
    await page.keyboard.press("d");
    await chip(tab, "Drop rolling_sea").waitFor();
    await showing(tab, stacks.length - dropped);
    const share = `${((dropped / stacks.length) * 100).toFixed(1)}\\s%`;
    assert.match(await page.locator(".toast > span").innerText(), new RegExp(`^Dropped rolling_sea, ${share}$`));
    assert.match(await chip(tab, "Drop").getAttribute("title"), new RegExp(`removes ${share}, ${count(dropped)} samples`));
    await page.keyboard.press("/");
    await page.keyboard.type("rolling_sea");
    await page.getByText("Nothing named “rolling_sea”.").waitFor();
    await page.keyboard.press("Escape");

    await page.locator(".toast").getByRole("button", { name: "Undo" }).click();
    await showing(tab, stacks.length);
    assert.equal(await chips(tab).count(), 0);
    await page.keyboard.press("Control+Shift+z");
    await showing(tab, stacks.length - dropped);
    await page.goBack();
    await showing(tab, stacks.length);
    await page.goForward();
    await showing(tab, stacks.length - dropped);

    // The address alone says it all.
    await page.reload();
    await tab.drop(recording);
    await tab.opened();
    await tab.drop(program);
    await showing(tab, stacks.length - dropped);
    await chip(tab, "Drop rolling_sea").getByRole("button", { name: /^Remove/ }).click();
    await showing(tab, stacks.length);
    await tab.close();
  });

  scene("a toast that offers to undo a step goes with its step", async () => {
    const tab = await opened();
    const { page } = tab;
    const toasts = page.locator(".toast-undo");
    const drop = async (name) => {
      await selectIn(tab, name);
      await page.keyboard.press("d");
      await toasts.filter({ hasText: `Dropped ${name}` }).waitFor();
    };
    const gone = () => page.waitForFunction(() => document.querySelector(".toast-undo") === null, null, { timeout: 3000 });
    for (const leave of [
      () => page.keyboard.press("Control+z"),
      () => page.goBack(),
      () => page.getByRole("tab", { name: /Call tree/ }).click(),
      () => page.evaluate(() => { location.hash = "#s2&direction=inverted"; }),
    ]) {
      await drop("rolling_sea");
      await leave();
      await gone();
      await page.evaluate(() => { location.hash = "#s2&view=flame"; });
      await showing(tab, stacks.length);
    }
    await drop("rolling_sea");
    await tab.drop(recording);
    await gone();
    await tab.close();
  });

  scene("each transform by its key, in order of effect, each removed alone", async () => {
    const tab = await opened();
    const { page } = tab;
    const expected = [];
    for (const [key, name, words] of [
      ["m", "lift_droplet", "Merge lift_droplet"],
      ["c", "raise_swell", "Collapse raise_swell"],
      ["r", "main", "Collapse recursion"],
      ["f", "main", "Focus main"],
      ["F", "rolling_sea", "Focus subtree rolling_sea"],
    ]) {
      await selectIn(tab, name);
      await page.keyboard.press(key);
      expected.push(words);
      await chips(tab).nth(expected.length - 1).waitFor();
      assert.deepEqual(await chips(tab).evaluateAll((all) => all.map((each) => each.querySelector(".chip-main").innerText.replace(/\s+/g, " ").trim())), expected);
    }
    await showing(tab, withFunction("rolling_sea"));
    await tab.pictures("shell-chips");
    await chip(tab, "Focus subtree").getByRole("button", { name: /^Remove/ }).click();
    await showing(tab, withFunction("main"));
    await chip(tab, "Focus main").locator(".chip-main").click();
    await page.getByRole("button", { name: "Clear all" }).click();
    await showing(tab, stacks.length);
    assert.equal(await chips(tab).count(), 0);
    await tab.close();
  });

  scene("what has no effect is struck through, and what does not fit is counted", async () => {
    const steps = Array.from({ length: 12 }, (_, i) => `&step=drop;nothing_is_called_like_this_${i};0`).join("");
    const tab = await opened({}, `#s2&files=/nowhere/tides${steps}`);
    const { page } = tab;
    await showing(tab, stacks.length);
    await page.locator(".chip-inert").first().waitFor();
    const drawn = await page.locator(".chips > .filter-chip").count();
    assert.ok(drawn > 0 && drawn < 12, `${drawn} of 12 fit`);
    const more = page.locator(".chips").getByRole("button", { name: `${12 - drawn} more filters` });
    await more.click();
    assert.equal(await chips(tab).count(), 12);
    const row = await page.locator(".context-bar").boundingBox();
    for (const box of await page.locator(".context-bar > *, .chips > *").evaluateAll((all) => all.map((each) => each.getBoundingClientRect().right))) {
      assert.ok(box <= row.x + row.width + 0.5, "nothing leaves the bar");
    }
    const chipsDrawn = (least, most) => page.waitForFunction(([least, most]) => {
      const now = document.querySelectorAll(".chips > .filter-chip").length;
      return least <= now && now <= most;
    }, [least, most]);
    const gap = () => page.evaluate(() => document.querySelector(".undo-button").getBoundingClientRect().left
      - document.querySelector(".chips").lastElementChild.getBoundingClientRect().right);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: /^Remove / }).first().click();
    await showing(tab, stacks.length);
    await page.locator(".undo-button:enabled").waitFor();
    const size = page.viewportSize();
    await chipsDrawn(drawn, drawn);
    assert.ok(await gap() >= 0 && await gap() < 16, `Undo stands ${await gap()} px behind the chips`);
    await page.setViewportSize({ width: 1030, height: size.height });
    await chipsDrawn(0, drawn - 1);
    await page.setViewportSize(size);
    await chipsDrawn(drawn, drawn);
    await tab.close();
  });

  scene("the menu of the selection has every transform, and gives the focus back", async () => {
    const tab = await opened();
    const { page } = tab;
    await selectIn(tab, "rolling_sea");
    await page.getByRole("button", { name: "More to do with the selection" }).click();
    const menu = page.getByRole("menu", { name: "rolling_sea" });
    await menu.waitFor();
    await tab.picture("shell-menu-of-selection");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Escape");
    await menu.waitFor({ state: "detached" });
    assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("aria-label")), "More to do with the selection");
    await page.keyboard.press("Enter");
    await menu.getByRole("menuitem", { name: /^Drop samples/ }).click();
    await showing(tab, stacks.length - withFunction("rolling_sea"));
    await tab.close();
  });
});

describe("filters", () => {
  scene("processes are ticked in a list that says how much each has", async () => {
    const tab = await opened();
    const { page } = tab;
    const byPid = new Map();
    for (const sample of stacks) byPid.set(sample.pid, [...(byPid.get(sample.pid) ?? []), sample]);
    assert.ok(byPid.size >= 2, "more than one process ran");
    await page.keyboard.press("t");
    const row = (pid) => page.locator(".task-row", { hasText: new RegExp(`\\b${pid}\\b`) });
    for (const [pid, samples] of byPid) {
      const share = (samples.length / stacks.length) * 100;
      const words = share < 0.05 ? /< 0\.1/ : new RegExp(share.toFixed(1).replace(".", "\\."));
      assert.match(await row(pid).innerText(), words);
    }
    const [first, second] = [...byPid.keys()];
    await row(first).getByRole("checkbox").check();
    await showing(tab, byPid.get(first).length);
    await row(second).getByRole("checkbox").check();
    await showing(tab, byPid.get(first).length + byPid.get(second).length);
    await tab.pictures("shell-processes");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: `Processes 2 of ${byPid.size}` }).waitFor();
    await page.keyboard.press("Control+z");
    await showing(tab, byPid.get(first).length);
    await chip(tab, "Process").getByRole("button", { name: /^Remove/ }).click();
    await showing(tab, stacks.length);

    // One thread after the other, the heaviest first.
    const sizes = [...byPid.values()].map((samples) => samples.length).sort((a, b) => b - a);
    await page.keyboard.press("n");
    await showing(tab, sizes[0]);
    await page.keyboard.press("n");
    await showing(tab, sizes[1]);
    await page.keyboard.press("p");
    await showing(tab, sizes[0]);
    await tab.close();
  });

  scene("where nothing is left, the page says why and leads back", async () => {
    const tab = await opened({}, "#s2&range=999-1000");
    const { page } = tab;
    await page.getByText("No samples from 999.0 s to 1000.0 s.").waitFor();
    await page.getByRole("button", { name: "Show all of the time" }).click();
    await showing(tab, stacks.length);
    await tab.close();

    const other = await opened({}, "#s2&range=0-500&comms=nobody&step=collapse-recursion");
    await other.page.getByText("Nothing is left after 3 filters.").waitFor();
    for (const [view, row] of [[/Functions/, "functions"], [/Call tree/, "tree"]]) {
      await other.view(view);
      await other.page.getByText("Nothing is left after 3 filters.").waitFor();
      await other.picture(`shell-nothing-left-${row}`);
    }
    await other.page.getByRole("button", { name: "Undo the last" }).click();
    await other.page.getByText("Nothing is left after 2 filters.").waitFor();
    await other.page.getByRole("button", { name: "Clear all" }).click();
    await showing(other, stacks.length);
    await other.close();
  });

  scene("a step that names what has no name yet says so, until it has one", async () => {
    const tab = await Tab.open(host);
    await tab.drop(recording);
    await tab.opened();
    const { page } = tab;
    const { build_id } = (await tab.ask("info")).dsos.find(({ path }) => path === program);
    await page.evaluate((address) => { location.hash = address; }, `#s2&files=${program};${build_id}&step=drop;not_there;0&step=focus;rolling_sea;0`);
    await page.getByText(/No function of tides is called “rolling_sea” here\. [\d.]+\s% of samples have no name yet\./).waitFor();
    assert.match(await chip(tab, "Drop").getAttribute("title"), /has no effect here: no function of tides is called “not_there” here$/);
    assert.match(await chip(tab, "Focus").getAttribute("title"), /samples: no function of tides is called “rolling_sea” here$/);
    await tab.drop(program);
    await showing(tab, withFunction("rolling_sea"));
    assert.ok(!(await chip(tab, "Focus").getAttribute("title")).includes("no function"));
    await tab.close();
  });

  scene("an address that nobody's page wrote breaks nothing", async () => {
    const deep = ",;f;0".repeat(1000);
    const addresses = [
      `#s2&range=9-1&cpus=99999,-1&processes=${"1,".repeat(5000)}&files=;,%,/a&dsos=0,7&step=fly&step=drop;x;9&around=up;x;0&event=77&view=source`,
      `#s2&files=/a&${`step=focus-subtree;inverted${deep}&`.repeat(70)}`,
      `#s2&step=search;/(a%2B)%2B$/&step=search;/(/&search=/(&group=%00&around=callers;${"x".repeat(4000)};0&files=/a`,
    ];
    for (const address of addresses) {
      const tab = await Tab.open(host + address);
      await tab.drop(recording);
      await tab.page.locator(".showing", { hasText: `of ${count(stacks.length)} samples` }).waitFor();
      await tab.settled();
      await tab.page.keyboard.press("3");
      await tab.page.getByRole("tab", { name: /Functions/, selected: true }).waitFor();
      await tab.settled();
      await tab.close();
    }
  });

  scene("zoom and selection stay where their call is still there", async () => {
    const tab = await opened();
    const { page } = tab;
    await selectIn(tab, "rolling_sea");
    await page.keyboard.press("Enter");
    const zoomed = page.locator(".breadcrumb [aria-current=location]", { hasText: /^rolling_sea$/ });
    await zoomed.waitFor();
    await page.keyboard.press("r");
    await chip(tab, "Collapse recursion").waitFor();
    await zoomed.waitFor();
    await tab.settled();
    const spoken = () => page.locator('[role=treeitem][aria-selected="true"]').getAttribute("aria-label");
    assert.match(await spoken(), /^rolling_sea, /);
    await page.goBack();
    await chips(tab).first().waitFor({ state: "detached" });
    await zoomed.waitFor();
    assert.match(await spoken(), /^rolling_sea, /);
    // What is gone cannot stay: its caller does, although what was inlined into it stands in its place.
    await page.keyboard.press("m");
    await chip(tab, "Merge rolling_sea").waitFor();
    await page.locator('[role=treeitem][aria-selected="true"][aria-label^="main, "]').waitFor();
    await page.goBack();
    await zoomed.waitFor();
    await selectIn(tab, "rolling_sea");
    await page.keyboard.press("d");
    await chip(tab, "Drop rolling_sea").waitFor();
    await page.locator(".breadcrumb [aria-current=location]", { hasText: /^main$/ }).waitFor();
    await page.locator('[role=treeitem][aria-selected="true"][aria-label^="main, "]').waitFor();
    await tab.close();
  });
});

describe("a14 keys", () => {
  scene("a14 every command that has a key is listed, and does what it says", async () => {
    const tab = await opened();
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
      await tab.settled();
      await selected(/Call tree/);
      await press("1");
      await selected(/Time order/);
      await press("t");
      await page.locator(".thread-chooser select:focus").waitFor();
      await tab.tree().focus();
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
    for (const key of ["1", "2", "3", "4", "6", "/", "Ctrl F", "Ctrl P", "Ctrl K", "Ctrl O", "Ctrl S", "?", "l", "e", "t", "n", "p", "Ctrl Z", "Ctrl Shift Z", "Esc",
      "w", "s", "a", "d", "+", "−", "0", "f", "F", "m", "M", "c", "C", "r", "*", "i", "[", "]", "Enter", "Backspace"]) {
      assert.ok(keys.includes(key), `${key} is listed`);
    }
    assert.ok(!keys.includes("5"), "there is no view of sources");
    await tab.pictures("shell-shortcuts");
    await tab.close();
  });

  scene("a14 where time has the focus, letters are moves in time and change no stack", async () => {
    const tab = await opened();
    const { page } = tab;
    await selectIn(tab, "rolling_sea");
    for (const [key, view, place] of [
      ["2", /Flame graph/, '.timeline-region [role="row"][tabindex="0"]'],
      ["6", /Heat map/, '.heat-map [role="grid"]'],
    ]) {
      await page.keyboard.press(key);
      await page.getByRole("tab", { name: view, selected: true }).waitFor();
      await page.locator(place).first().focus();
      for (const move of ["d", "a", "w", "s", "+", "-", "0", "[", "]", "m", "M", "c", "C", "r", "F", "i"]) await page.keyboard.press(move);
      await tab.settled();
      assert.equal(await chips(tab).count(), 0, `${place}: nothing is dropped or merged`);
      assert.doesNotMatch(page.url(), /direction|step/);
      await page.keyboard.press("3");
      await page.getByRole("tab", { name: /Functions/, selected: true }).waitFor();
    }
    await tab.close();
  });

  scene("a14 inside text fields a key is a letter, and keys without Ctrl can be switched off", async () => {
    const tab = await opened();
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

  scene("a14 the palette finds buttons and options by name", async () => {
    const tab = await opened();
    const { page } = tab;
    await page.keyboard.press("Control+p");
    const list = page.getByRole("listbox", { name: "Commands" });
    await list.waitFor();
    const all = await list.getByRole("option").count();
    assert.ok(all > 20, `${all} commands`);
    await tab.pictures("shell-palette");
    await page.keyboard.type("call tr");
    await page.waitForFunction((all) => document.querySelectorAll("[role=option]").length < all, all);
    const active = await page.getByRole("combobox", { name: "Commands" }).getAttribute("aria-activedescendant");
    assert.match(await page.locator(`[id="${active}"]`).innerText(), /^Call tree/);
    await page.keyboard.press("Enter");
    await page.getByRole("tab", { name: /Call tree/, selected: true }).waitFor();
    assert.equal(await page.locator(".search input").inputValue(), "", "the field is a search again");
    await page.keyboard.press("Control+k");
    await page.keyboard.type("no such command at all");
    await page.getByText(/No command is called/).waitFor();
    await page.keyboard.press("Escape");
    await list.waitFor({ state: "detached" });
    await tab.close();
  });
});

describe("a21 everyone", () => {
  scene("a21 nothing moves for who wants no motion", async () => {
    const tab = await opened();
    const { page } = tab;
    const running = () => page.evaluate(() => document.getAnimations().filter((each) => each.playState === "running").length);
    await page.getByRole("button", { name: "Menu" }).click();
    assert.equal(await running(), 0);
    await page.keyboard.press("Escape");
    await page.emulateMedia({ reducedMotion: "no-preference" });
    await page.getByRole("button", { name: "Menu" }).click();
    const moved = await page.locator(".popover").evaluate((element) => getComputedStyle(element).animationName);
    assert.notEqual(moved, "none", "it does for others");
    await tab.close();
  });

  for (const [name, options, prepare] of [
    ["forced colours", {}, (page) => page.emulateMedia({ forcedColors: "active" })],
    ["text twice as large", {}, (page) => page.evaluate(() => {
      document.documentElement.style.fontSize = "200%";
    })],
    ["comfortable rows", {}, (page) => page.evaluate(() => {
      document.documentElement.dataset.density = "comfortable";
    })],
  ]) {
    scene(`a21 with ${name} nothing is cut off, and axe finds nothing`, async () => {
      const tab = await opened({ initPath: axe, ...options }, "#s2&range=0-10&step=collapse-recursion");
      const { page } = tab;
      await prepare(page);
      await selectIn(tab, "rolling_sea");
      const all = {};
      const look = async (screen) => {
        const found = await tab.findings();
        if (found.length > 0) all[screen] = found;
        await page.screenshot({ path: `../../target/screenshots/a21-${name.replaceAll(" ", "-")}-${screen}.png` });
        const overflow = await page.evaluate(() => document.scrollingElement.scrollWidth - innerWidth);
        assert.ok(overflow <= 0, `${screen}: the page is ${overflow} px too wide`);
      };
      await look("selection");
      await tab.view(/Functions/);
      await page.locator(".row:not(.loading)").first().waitFor();
      await look("functions");
      const cell = await page.locator(".functions .row:not(.loading) .name").first().boundingBox();
      assert.ok(cell.width >= 80, `functions: ${cell.width} px are left for names`);
      await tab.view(/Call tree/);
      await page.locator(".row").first().waitFor();
      await look("tree");
      await tab.view(/Flame graph/);
      await page.getByRole("button", { name: "Menu" }).click();
      await look("menu");
      await page.keyboard.press("Escape");
      await page.keyboard.press("Control+k");
      await look("palette");
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "More to do with the selection" }).click();
      await look("menu-of-selection");
      await page.keyboard.press("Escape");
      await page.locator(".filter-chip .chip-main").first().click();
      await look("menu-of-a-chip");
      await page.keyboard.press("Escape");
      await page.keyboard.press("?");
      await look("shortcuts");
      assert.deepEqual(all, {});
      await tab.close();
    });
  }

  for (const colorScheme of ["light", "dark"]) {
    for (const width of [1440, 420]) {
      scene(`a21 axe finds nothing in any state of the frame, ${colorScheme}, ${width} wide`, async () => {
        const steps = Array.from({ length: 9 }, (_, i) => `&step=drop;nothing_is_called_like_this_${i};0`).join("");
        const tab = await opened({ initPath: axe, colorScheme, width }, `#s2&range=0-1&files=/nowhere/tides&step=collapse-recursion${steps}`);
        const { page } = tab;
        const all = {};
        const look = async (state) => {
          const found = await tab.findings();
          if (found.length > 0) all[state] = found;
        };
        /** With something open that Esc closes. */
        const within = async (state, button) => {
          await button.click();
          await look(state);
          await page.keyboard.press("Escape");
        };
        await look("chips");
        await within("event", page.locator(".context-bar .chip").first());
        await within("processes", page.locator(".tasks-button"));
        await within("a chip", page.locator(".filter-chip .chip-main").first());
        const more = page.getByRole("button", { name: /more filters/ });
        if (await more.count() > 0) await within("more chips", more);
        await within("menu", page.getByRole("button", { name: "Menu" }));
        for (const key of ["Control+k", "/", "?", "Control+s"]) {
          await page.keyboard.press(key);
          await look(key);
          await page.keyboard.press("Escape");
        }
        await page.keyboard.press("/");
        await page.keyboard.type("no such name");
        await page.getByText("Nothing named").waitFor();
        await look("nothing found");
        await page.keyboard.press("Escape");
        for (const { key } of [{ key: "6" }, { key: "4" }, { key: "3" }, { key: "2" }]) {
          await page.keyboard.press(key);
          await tab.settled();
          await look(`view ${key}`);
        }
        assert.deepEqual(all, {});
        await tab.close();
      });
    }
  }

  for (const [width, height] of [[1440, 900], [1024, 700], [420, 900]]) {
    scene(`a21 Tab goes through the page from the top, and where it is can be seen, ${width} wide`, async () => {
      const tab = await opened({ width, height }, "#s2&range=0-10&step=collapse-recursion");
      const { page } = tab;
      await page.evaluate(() => document.activeElement?.blur());
      const seen = [];
      for (let steps = 0; steps < 120; steps++) {
        await page.keyboard.press("Tab");
        const at = await page.evaluate(() => {
          const element = document.activeElement;
          if (element === null || element === document.body) return null;
          const { boxShadow, backgroundImage } = getComputedStyle(element);
          const ringed = (each) => [null, "::after", "::before"].some((part) => {
            const { outlineStyle, borderStyle } = getComputedStyle(each, part);
            return outlineStyle !== "none" || (part !== null && borderStyle !== "none");
          });
          // The ends of a range are drawn on the canvas of their track.
          const box = (element.closest(".timeline-row") ?? element).getBoundingClientRect();
          const region = [".top-bar", ".context-bar", ".timeline-region", ".view-tabs", "#view", ".dock", ".sheet", ".status-bar"].findIndex((each) => element.closest(each));
          element.dataset.visited ??= "0";
          element.dataset.visited = String(Number(element.dataset.visited) + 1);
          return {
            what: element.getAttribute("aria-label") ?? element.textContent?.slice(0, 40) ?? "",
            region,
            again: element.dataset.visited !== "1",
            // Its own, or that of what it stands for: the canvas, the field around the text.
            visible: boxShadow !== "none" || backgroundImage !== "none" || [element, element.parentElement].some(ringed),
            inSight: box.width > 0 && box.height > 0 && box.bottom > 0 && box.top < innerHeight,
          };
        });
        if (at === null || at.again) break;
        seen.push(at);
      }
      assert.ok(seen.length > 10, `${seen.length} stops`);
      for (const { what, visible, inSight } of seen) {
        assert.ok(visible, `${what}: the focus is seen`);
        assert.ok(inSight, `${what}: it is in sight`);
      }
      const regions = seen.map(({ region }) => region).filter((region) => region >= 0);
      assert.deepEqual(regions, [...regions].sort((a, b) => a - b), "from the top");
      for (const region of [0, 1, 3, 4]) assert.ok(regions.includes(region), `region ${region} is reached`);
      await tab.close();
    });
  }
});
