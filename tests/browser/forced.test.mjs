// Names from a file that is not the one that ran: by hand only, with the DSO's name typed, and with a mark at every name,
// in every view, link, page and export, until it is stopped. A recording without build-ids invites nobody to it.
import assert from "node:assert/strict";
import { copyFileSync, readFileSync, utimesSync } from "node:fs";
import { describe } from "node:test";
import { pathToFileURL } from "node:url";
import { Parts, buildId, run } from "./recording.mjs";
import { afterScenes, beforeScenes, eventually, scene } from "./scene.mjs";
import { Tab, axe } from "./tab.mjs";

/** The bit of a column of flags. */
const FORCED = 2;

const parts = new Parts();
let host;
let recording;
let rebuilt;
let right;
/** Every symbol of the file that is forced, as binutils read them. */
let symbols;

beforeScenes(async () => {
  right = parts.compile(["recorded", "tides"]);
  rebuilt = parts.compile(["rebuilt", "tides"], "-O2", "-DNEAP");
  recording = parts.record("tides.perf.data", ["-F", "999"], [right, "20"]);
  const lines = run("nm", ["--defined-only", rebuilt]).trim().split("\n");
  symbols = new Set(lines.map((line) => line.split(" ").at(-1)));
  host = await parts.host();
});

afterScenes(() => parts.end());

const ofTides = (functions) => functions.filter(({ dso }) => dso === "tides");
const isAddress = ({ name }) => /0x[0-9a-f]+/.test(name);

/** The recording with the other build given and refused, explained. */
async function explained(options = {}) {
  const tab = await Tab.open(host, options);
  await tab.drop(recording);
  await tab.opened();
  await tab.drop(rebuilt);
  await tab.status("tides", "mismatched");
  await tab.page.getByRole("button", { name: "Why? tides" }).click();
  return tab;
}

/** Forces the file that was given, as a person does it. */
async function force(tab) {
  await tab.page.getByRole("button", { name: "Force…" }).click();
  const dialog = tab.page.getByRole("dialog", { name: "Use this file anyway (unsafe)" });
  await dialog.getByRole("textbox").fill("tides");
  await dialog.getByRole("button", { name: "Force" }).click();
  await tab.page.getByRole("region", { name: "Unsafe names" }).waitFor();
}

async function backToViews(tab) {
  await tab.page.keyboard.press("Escape");
  await tab.page.getByRole("tab", { name: "DSOs" }).waitFor();
}

/** What the page says of coverage: the headline, and the parts. */
async function coverage(tab) {
  await tab.settled();
  const said = await tab.page.locator(".coverage-line").innerText();
  const legend = await tab.page.locator(".coverage-block .legend li").allInnerTexts();
  return {
    headline: Number(/^([\d.]+)\s%/.exec(said)[1]),
    parts: Object.fromEntries(legend.map((text) => [text.replace(/ [\d.]+$/, ""), Number(/[\d.]+$/.exec(text)[0])])),
  };
}

/** The number of pixels of the flame graph that have exactly this colour. */
async function pixels(tab, [red, green, blue]) {
  // The graph has no size until it is laid out again.
  await tab.page.waitForFunction(() => (document.querySelector(".flame-sticky canvas")?.width ?? 0) > 0);
  await tab.settled();
  return tab.page.evaluate(
    ([red, green, blue]) => {
      const canvas = document.querySelector(".flame-sticky canvas");
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      let count = 0;
      for (let at = 0; at < data.length; at += 4) {
        if (data[at] === red && data[at + 1] === green && data[at + 2] === blue) count++;
      }
      return count;
    },
    [red, green, blue],
  );
}

const GURU_SOFT = [0xf9, 0xdf, 0xf4];

/** Every name of the program is marked, in what the worker says and wherever the page shows it. */
async function assertMarked(tab) {
  const ours = ofTides(await tab.functions());
  const named = ours.filter((each) => !isAddress(each));
  assert.ok(named.length >= 3, "the other build names something");
  for (const { name, flags } of ours) assert.equal((flags & FORCED) !== 0, !isAddress({ name }), `${name} is marked`);
  for (const { name, flags } of await tab.functions()) {
    if (symbols.has(name) && flags & FORCED) assert.ok(named.some((each) => each.name === name));
  }
  const { page } = tab;
  await page
    .getByRole("region", { name: "Unsafe names" })
    .getByText(/^Unsafe: names in tides come from a file/)
    .waitFor();

  await tab.view(/Functions/);
  const rows = page.locator(".row:not(.loading)", { has: page.locator(".dso", { hasText: /^tides$/ }) });
  await rows.first().waitFor();
  for (const [mark, name] of await rows.evaluateAll((rows) =>
    rows.map((row) => [row.querySelector(".forced-mark")?.textContent ?? "", row.querySelector(".frame-name").textContent]),
  )) {
    assert.equal(mark.trim(), / address(es)?$/.test(name) ? "" : "≠", name);
  }
  const first = rows.filter({ has: page.locator(".forced-mark") }).first();
  assert.match(await first.locator(".frame-name").getAttribute("title"), /^≠ /, "in tooltips too");
  await first.click();
  const draw = page.getByRole("combobox", { name: "Show as" });
  await draw.selectOption("lines");
  await page.getByRole("note").filter({ hasText: "Names in tides are forced" }).waitFor();
  assert.equal(await page.locator(".hot-grid").count(), 0, "neither lines nor instructions");
  await draw.selectOption("flame");
  await tab.panel("Selection");
  const panel = page.locator(".selection");
  await panel.locator(".stack").waitFor();
  assert.match(await panel.locator("h2").innerText(), /^≠ /);
  assert.match(await panel.locator(".selection-status").innerText(), /Forced: tides, taken from build/);
  assert.equal(await panel.locator("dt:text-is('Source') + dd").innerText(), "not shown for forced names");
  const stack = await panel.locator(".stack li").allInnerTexts();
  assert.match(stack.at(-1), /≠\s/);
  assert.ok(
    stack.every((text) => !symbols.has(text.trim())),
    "no step without its mark",
  );

  await tab.view(/Call tree/);
  await page.getByRole("button", { name: "Expand hottest path" }).click();
  await page.locator(".call-tree .row .forced-mark").first().waitFor();
  const tree = await page
    .locator(".call-tree .row")
    .evaluateAll((rows) =>
      rows.map((row) => [
        row.querySelector(".forced-mark") !== null,
        row.querySelector(".frame-name")?.textContent ?? "",
        row.querySelector(".dso")?.textContent,
      ]),
    );
  for (const [marked, name, dso] of tree) if (dso === "tides") assert.equal(marked, !/ address(es)?$/.test(name), name);

  await tab.view(/Flame graph/);
  assert.ok((await pixels(tab, GURU_SOFT)) > 100, "frames have the colour that nothing else has");
  await tab.tree().focus();
  for (const key of ["ArrowDown", "End"]) await page.keyboard.press(key);
  await tab.select("main");
  await tab.tree().locator('[aria-selected="true"][aria-label^="main, tides, forced, total"]').waitFor({ state: "attached" });
  await tab.tree().focus();
  await page.keyboard.press("Enter");
  const crumb = page.locator(".breadcrumb [aria-current=location]", { hasText: "main" });
  await crumb.waitFor();
  assert.match(await crumb.innerText(), /^≠ main$/);
  await page.keyboard.press("0");
  await page.keyboard.press("/");
  await page.keyboard.press("Escape");
  assert.match(await page.title(), /^≠ /);
}

/** Waits until keys go to this element. */
const focused = (locator) =>
  eventually(async () => assert.ok(await locator.evaluate((element) => element === document.activeElement)));

describe("b31 a mismatched file is used only by force, and every name of it is marked", () => {
  scene("a08 b31a the name is typed first, the names are marked, coverage does not grow, and Stop ends it", async () => {
    const tab = await explained();
    const { page } = tab;
    await tab.pictures("a08-mismatch");
    await backToViews(tab);
    const before = await coverage(tab);
    assert.equal(await pixels(tab, GURU_SOFT), 0);
    await page.getByRole("button", { name: "Why? tides" }).click();

    const ways = await page.locator(".ways li").evaluateAll((ways) => ways.map((way) => way.textContent));
    assert.match(ways.at(-1), /^Use this file anyway \(unsafe\)/, "the last of all ways");
    await page.getByRole("button", { name: "Force…" }).click();
    const dialog = page.getByRole("dialog", { name: "Use this file anyway (unsafe)" });
    const button = dialog.getByRole("button", { name: "Force" });
    assert.ok(await button.isDisabled());
    await dialog.getByRole("textbox").fill("tide");
    await tab.settled();
    assert.ok(await button.isDisabled());
    await page.keyboard.press("Enter");
    await tab.settled();
    assert.ok(ofTides(await tab.functions()).every(isAddress), "nothing before the name was typed");
    await dialog.getByRole("textbox").fill("tides");
    await tab.pictures("a08-confirm");
    await page.keyboard.press("Enter");
    await page.getByRole("region", { name: "Unsafe names" }).waitFor();
    await tab.pictures("a08-explained");
    await backToViews(tab);
    await tab.status("tides", "forced");
    // What the file was refused for is said no more.
    await page.locator(".status-bar", { hasText: /^Used .+ for tides, by force\./ }).waitFor();

    const after = await coverage(tab);
    assert.equal(after.headline, before.headline, "what is forced is not named");
    assert.equal(after.parts.named, before.parts.named);
    assert.ok(after.parts.forced > 0, "but a part of its own");
    const rest = ({ forced = 0, mismatched = 0, "no symbol": lacking = 0 }) => forced + mismatched + lacking;
    // Each part is rounded so that all of them make 100.0: three of them may be off by a tenth each.
    assert.ok(Math.abs(rest(after.parts) - rest(before.parts)) < 0.35, `${rest(before.parts)}, ${rest(after.parts)}`);
    await assertMarked(tab);
    await tab.pictures("a08-forced", { sheet: "full" });
    await tab.view(/Call tree/);
    await tab.pictures("a08-call-tree");
    await tab.view(/Functions/);
    await page.locator(".functions .row .forced-mark").first().waitFor();
    await tab.pictures("a08-functions");

    await page.getByRole("button", { name: "Stop using this file" }).click();
    await page.getByRole("region", { name: "Unsafe names" }).waitFor({ state: "detached" });
    await tab.panel("DSOs");
    await tab.status("tides", "mismatched");
    assert.ok(ofTides(await tab.functions()).every(isAddress), "no name stays");
    assert.deepEqual(await coverage(tab), before);
    assert.doesNotMatch(await page.title(), /≠/);
    await tab.close();
  });

  scene(
    "b31b the right file takes the place of the forced one",
    async () => {
      const tab = await explained();
      await force(tab);
      await tab.drop(right);
      await tab.page.getByRole("region", { name: "Unsafe names" }).waitFor({ state: "detached" });
      await backToViews(tab);
      await tab.status("tides", "matched");
      for (const { flags } of await tab.functions()) assert.equal(flags & FORCED, 0);
      await tab.close();
    },
    { tier: "all" },
  );

  scene(
    "a08 b31c whoever opens a link or a saved page of it sees the banner and the marks; text says [forced]",
    async () => {
      const tab = await explained();
      const { page } = tab;
      await force(tab);
      await backToViews(tab);
      const forced = ofTides(await tab.functions())
        .filter(({ flags }) => flags & FORCED)
        .map(({ name }) => name);

      await page.getByRole("button", { name: "Share" }).click();
      const dialog = page.getByRole("dialog", { name: "Share this profile" });
      await dialog.getByText(/Names in tides are forced/).waitFor();
      await dialog.getByRole("radio", { name: /GitHub/ }).check();
      await dialog.getByText(/of [\d,]+ call nodes/).waitFor();
      await tab.pictures("a08-share");
      const link = await tab.copied(() => dialog.getByRole("button", { name: "Copy link" }).click());
      await page.getByRole("button", { name: "Page", exact: true }).click();
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("button", { name: "Save as HTML" }).click(),
      ]);
      const saved = parts.path("saved", download.suggestedFilename());
      await download.saveAs(saved);
      await page.getByRole("button", { name: "Export", exact: true }).click();
      await tab.pictures("a08-export");
      const [text] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("button", { name: "Save as text" }).click(),
      ]);
      await text.saveAs(parts.path("saved", "stacks.txt"));
      await tab.close();

      const lines = readFileSync(parts.path("saved", "stacks.txt"), "utf8").trim().split("\n");
      const frames = new Set(lines.flatMap((line) => line.replace(/ \d+$/, "").split(";")));
      for (const name of forced) {
        assert.ok(frames.has(`[forced] ${name}`), name);
        assert.ok(!frames.has(name), `${name} without its mark`);
      }
      for (const address of [host + link.slice(link.indexOf("#")), pathToFileURL(saved).href]) {
        const fresh = await Tab.open(address, { offline: true });
        await fresh.opened();
        await fresh.status("tides", "forced");
        await assertMarked(fresh);
        await fresh.pictures(address.startsWith("file:") ? "a08-page" : "a08-link");
        await fresh.close();
      }
    },
    { tier: "all" },
  );

  for (const colorScheme of ["light", "dark"]) {
    scene(
      `b31d by keys alone, and axe finds nothing serious, ${colorScheme}`,
      async () => {
        const tab = await explained({ initPath: axe, colorScheme });
        const { page } = tab;
        assert.deepEqual(await tab.findings(), []);
        const tabTo = async (locator) => {
          for (let steps = 0; steps < 80; steps++) {
            await page.keyboard.press("Tab");
            if (await locator.evaluate((element) => element === document.activeElement)) return;
          }
          assert.fail(`Tab never reaches ${locator}`);
        };
        await tabTo(page.getByRole("button", { name: "Force…" }));
        await page.keyboard.press("Enter");
        await page.getByRole("dialog").getByRole("textbox").waitFor();
        await page.keyboard.press("Escape");
        await page.getByRole("dialog").waitFor({ state: "detached" });
        await focused(page.getByRole("button", { name: "Force…" }));
        await page.keyboard.press("Enter");
        await page.getByRole("dialog").getByRole("textbox").waitFor();
        assert.deepEqual(await tab.findings(), []);
        await page.keyboard.type("tides");
        await page.keyboard.press("Enter");
        await page.getByRole("region", { name: "Unsafe names" }).waitFor();
        assert.deepEqual(await tab.findings(), []);
        const stop = page.locator(".explanation").getByRole("button", { name: "Stop using this file" });
        await stop.waitFor();
        await focused(stop);
        await page.keyboard.press("Escape");
        assert.deepEqual(await tab.findings(), []);
        await tabTo(page.getByRole("region", { name: "Unsafe names" }).getByRole("button"));
        await page.keyboard.press("Enter");
        await page.getByRole("region", { name: "Unsafe names" }).waitFor({ state: "detached" });
        await tab.close();
      },
      { tier: "all" },
    );
  }
});

describe("b31 a DSO that has no identity", () => {
  scene(
    "b31e is named by force alone, with a file that the user chooses",
    async () => {
      // perf looks up build-ids when it ends: of two files that were at one path it cannot tell which ran.
      const path = parts.path("swapped", "tides");
      copyFileSync(right, path);
      const swap = `${path} 12; cp ${rebuilt} ${path}.new; mv ${path}.new ${path}; ${path} 12`;
      const ambiguous = parts.perf("ambiguous.perf.data", ["-F", "999"], ["sh", "-c", swap]);
      const tab = await Tab.open(host);
      const { page } = tab;
      await tab.drop(ambiguous);
      await tab.opened();
      await (await tab.status("tides", "no-identity")).getByRole("button", { name: "Why? tides" }).first().click();
      await page
        .locator(".explanation")
        .getByText(/No file can be verified as the one that ran/)
        .waitFor();
      await tab.pictures("a08-ambiguous");
      assert.ok(ofTides(await tab.functions()).every(isAddress), "addresses until then");
      await tab.pick(() => page.getByRole("button", { name: "Force…" }).click(), rebuilt);
      const dialog = page.getByRole("dialog", { name: "Use this file anyway (unsafe)" });
      await dialog.getByText(/^Nothing shows that tides is the tides that ran/).waitFor();
      await dialog.getByRole("textbox").fill("tides");
      await page.keyboard.press("Enter");
      await page
        .getByRole("region", { name: "Unsafe names" })
        .getByText(/a file that could not be verified/)
        .waitFor();
      const named = ofTides(await tab.functions()).filter((each) => !isAddress(each));
      assert.ok(named.length > 0);
      for (const { name, flags } of named) assert.equal(flags & FORCED, FORCED, name);
      await page.locator(".explanation").getByRole("button", { name: "Stop using this file" }).click();
      await page.getByRole("region", { name: "Unsafe names" }).waitFor({ state: "detached" });
      assert.ok(ofTides(await tab.functions()).every(isAddress));
      await tab.close();
    },
    { tier: "all" },
  );
});

describe("b33 without any build-id", () => {
  scene("a09 b33a a banner, nothing but addresses, and no invitation to force", async () => {
    const without = parts.perf("without.perf.data", ["-F", "999", "-B"], [right, "12"]);
    const tab = await Tab.open(host);
    const { page } = tab;
    await tab.drop(without);
    await tab.opened();
    await page.getByText(/^This recording has no build-ids, so names can’t be checked/).waitFor();
    await tab.drop(right);
    await tab.settled();
    const row = await tab.status("tides", "no-identity");
    await row.getByRole("button", { name: "Why? tides" }).click();
    const pane = page.locator(".explanation");
    await pane.getByText(/No file can be verified as the one that ran/).waitFor();
    assert.equal(await page.getByRole("button", { name: "Force…" }).count(), 0);
    assert.ok(!(await tab.everything()).some((text) => /anyway|unsafe/i.test(text)));
    await tab.pictures("a09-no-build-ids");
    assert.ok(ofTides(await tab.functions()).every(isAddress));
    assert.notEqual(buildId(right), "");
    await tab.close();
  });

  scene("from perftab view, names by path once somebody trusts them, each marked", async () => {
    const plain = parts.compile(["plain", "tides"], "-Wl,--build-id=none");
    const changed = parts.compile(["changed", "ebb"], "-Wl,--build-id=none");
    const both = parts.perf("plain.perf.data", ["-F", "999", "-B", "-N"], ["sh", "-c", `${plain} 12; ${changed} 12`]);
    utimesSync(changed, new Date(), new Date());
    const tab = await Tab.open(await parts.view(both));
    const { page } = tab;
    await tab.opened();
    assert.ok(ofTides(await tab.functions()).every(isAddress));
    const offer = page.getByRole("button", { name: /^use this machine’s files by path/ });
    await offer.click();
    const dialog = page.getByRole("dialog", { name: "Use this machine’s files by path (unsafe)" });
    await tab.pictures("trusted-paths");
    await dialog.getByRole("button", { name: "Use these files" }).click();
    await page.getByRole("region", { name: "Unsafe names" }).waitFor();
    await tab.settled();
    const functions = await tab.functions();
    const named = ofTides(functions).filter((row) => !isAddress(row));
    assert.ok(named.length > 0 && named.every(({ flags }) => (flags & FORCED) !== 0), JSON.stringify(named));
    const own = new Set(
      run("nm", ["--defined-only", plain])
        .trim()
        .split("\n")
        .map((line) => line.split(" ").at(-1)),
    );
    assert.ok(
      named.every(({ name }) => own.has(name)),
      JSON.stringify(named),
    );
    assert.ok(functions.filter(({ dso }) => dso === "ebb").every(isAddress), "it has changed");
    assert.equal(await offer.count(), 0, "the others have been refused");
    await (await tab.status("ebb", "no-identity")).getByRole("button", { name: "Why? ebb" }).click();
    await page
      .locator(".explanation")
      .getByText("not trusted: since the recording was begun it was changed, linked or given other permissions")
      .waitFor();
    await page.keyboard.press("Escape");
    // Its row has a button for each DSO that was sampled; this one is for all of them.
    await page
      .getByRole("region", { name: "Unsafe names" })
      .getByRole("button", { name: /^Stop using/ })
      .click();
    await tab.settled();
    assert.ok(ofTides(await tab.functions()).every(isAddress));
    await offer.waitFor();
    await tab.close();
  });
});
