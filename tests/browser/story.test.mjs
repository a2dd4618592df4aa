// The whole path, with real parts: a program is compiled, recorded on this kernel, dropped into the page in Chromium,
// named by its build-id and by nothing else, and shown to somebody else by link and by file. Pictures of every step are
// kept in target/screenshots/.
import assert from "node:assert/strict";
import { copyFileSync, existsSync, mkdirSync, renameSync } from "node:fs";
import { describe } from "node:test";
import { pathToFileURL } from "node:url";
import { Parts, buildId, functionAt, isInstalled, linesOf } from "./recording.mjs";
import { afterScenes, beforeScenes, eventually, scene } from "./scene.mjs";
import { Tab } from "./tab.mjs";

/** Every function of tides.c but main, whose name stands in any page. */
const NAMES = [
  "lift_droplet",
  "raise_swell",
  "rolling_sea",
  "settle_foam",
  "order_by_height",
  "sort_the_waves",
  "empty_into_sea",
  "neap_tide",
  "tides.c",
];

const parts = new Parts();
let host;
/** Recorded: `tides`, and `driftwood`, which no longer exists anywhere. */
let recording;
const files = {};
const ids = {};

beforeScenes(async () => {
  // Another program, whose file nobody has.
  files.tides = parts.compile(["recorded", "tides"]);
  const driftwood = parts.compile(["recorded", "driftwood"], "-O1");
  files.rebuilt = parts.compile(["rebuilt", "tides"], "-O2", "-DNEAP");
  ids.driftwood = buildId(driftwood);
  ids.tides = buildId(files.tides);
  ids.rebuilt = buildId(files.rebuilt);
  assert.equal(new Set(Object.values(ids)).size, 3);
  recording = parts.record("tides.perf.data", ["-F", "4999"], ["sh", "-c", `${files.tides} 24; ${driftwood} 6`]);
  // From here on nothing lies where it was recorded.
  mkdirSync(parts.path("kept", "tides"), { recursive: true });
  files.renamed = parts.path("kept", "something-else.bin");
  renameSync(files.tides, files.renamed);
  renameSync(driftwood, parts.path("gone", "driftwood"));
  host = await parts.host();
});

afterScenes(() => parts.end());

/** No function of the program has a name: not on the screen, not in what the worker said, not in what it answers. */
async function assertUnnamed(tab) {
  const ours = (await tab.functions()).filter(({ dso }) => dso === "tides" || dso === "driftwood");
  assert.ok(ours.length >= 4, "the program was sampled");
  for (const { name } of ours) assert.match(name, /0x[0-9a-f]+/);
  const texts = [...(await tab.everythingInAllViews()), ...(await tab.said())];
  assert.ok(texts.length > 200, "the page was read");
  for (const name of NAMES) {
    const found = texts.find((text) => text.includes(name));
    assert.equal(found, undefined, `${name} is known`);
  }
}

/** The program's functions have the names of their source. */
function assertNamed(functions) {
  const ours = functions.filter(({ dso }) => dso === "tides").map(({ name }) => name);
  for (const name of ["lift_droplet", "raise_swell", "rolling_sea", "order_by_height", "sort_the_waves", "main"]) {
    assert.ok(ours.includes(name), `${name} is among ${ours.join(", ")}`);
  }
}

/** Rows of the ledger by name: what a reader of a link must see too. */
const statuses = (ledger) =>
  Object.fromEntries(Object.entries(ledger).map(([name, { status, buildId, share }]) => [name, { status, buildId, share }]));

describe("the story", () => {
  /** One tab from the first drop to the saved page. */
  let tab;
  /** What it shows once the program has names. */
  const seen = {};

  beforeScenes(async () => {
    tab = await Tab.open(host);
  });
  afterScenes(() => tab?.close());

  scene("1 a recording is dropped: addresses, and a ledger of what is missing", async () => {
    await tab.pictures("0-open-screen");
    await tab.drop(recording);
    await tab.opened();
    const ledger = await tab.ledger();
    assert.equal(ledger.tides.status, "missing");
    assert.equal(ledger.tides.buildId, ids.tides);
    assert.equal(ledger.driftwood.status, "missing");
    assert.equal(ledger.driftwood.buildId, ids.driftwood);
    assert.equal(ledger["[kernel.kallsyms]"].status, "embedded");
    const kernel = (await tab.functions()).filter(({ dso }) => dso === "[kernel.kallsyms]");
    assert.ok(
      kernel.some(({ name }) => name === "ksys_read"),
      "the kernel's functions have names",
    );
    assert.ok(
      kernel.every(({ name }) => !name.startsWith("0x")),
      "all of them",
    );
    await assertUnnamed(tab);
    await tab.pictures("1-addresses");
  });

  scene("a04 a rebuilt binary of the same name is refused, and both ids are shown", async () => {
    await tab.drop(files.rebuilt);
    const row = await tab.status("tides", "mismatched");
    await tab.pictures("a04-refused", { sheet: "full" });
    await row.getByRole("button", { name: "Why?" }).click();
    const explanation = tab.page.locator(".explanation");
    await explanation.waitFor();
    const shown = await explanation.locator(".id-groups").allInnerTexts();
    assert.deepEqual(
      shown.map((text) => text.replace(/\s/g, "")),
      [ids.tides, ids.rebuilt],
    );
    await tab.pictures("a04-both-ids");
    await tab.page.keyboard.press("Escape");
    await assertUnnamed(tab);
  });

  scene("a05 the right binary under another name: names, inlined functions, lines; the selection stays", async () => {
    await tab.view(/Functions/);
    await tab.option("Unnamed code", "each address");
    await tab.page
      .locator(".row", { has: tab.page.locator(".dso", { hasText: "tides" }) })
      .first()
      .click();
    await tab.view(/Flame graph/);
    await tab.panel("Selection");
    const panel = tab.page.locator(".selection");
    await panel.filter({ hasText: "Mismatched: tides" }).waitFor();
    await tab.settled();
    const unnamed = await panel.locator("h2").innerText();
    assert.match(unnamed, /^0x[0-9a-f]+$/);
    const stack = await panel.locator(".stack li").count();

    await tab.drop(files.renamed);
    await panel.filter({ hasText: /Matched: tides/ }).waitFor();
    await tab.settled();
    const named = (await panel.locator("h2").innerText()).replace(" (inlined)", "");
    assert.equal(named, functionAt(files.renamed, unnamed), "what was selected still is");
    assert.ok((await panel.locator(".stack li").count()) >= stack, "the same stack, with what is inlined");
    await tab.pictures("a05-selection-kept", { sheet: "full" });

    await tab.panel("DSOs");
    await tab.status("tides", "matched");
    await tab.pictures("a05-matched", { sheet: "full" });
    seen.functions = await tab.functions();
    assertNamed(seen.functions);
    assert.ok(!(await tab.said()).includes("neap_tide"), "nothing of the refused binary");
    assert.equal((await tab.ledger()).driftwood.status, "missing");

    const found = await tab.select("lift_droplet");
    assert.match(await found.locator("h2").innerText(), /^lift_droplet \(inlined\)$/);
    const source = await found.locator("dt:text-is('Source') + dd").innerText();
    const [, file, line] = /^(.*):(\d+)$/.exec(source);
    assert.match(file, /tests\/programs\/tides\.c$/);
    const { first, last } = linesOf("lift_droplet");
    assert.ok(Number(line) >= first && Number(line) <= last, `line ${line} is in ${first} to ${last}`);
    await eventually(async () => {
      const path = await found.locator(".stack li").allInnerTexts();
      assert.deepEqual(path.slice(-4), ["main", "rolling_sea", "raise_swell", "lift_droplet"]);
    });
    await tab.pictures("3-names-and-lines");
    await tab.page.keyboard.press("/");
    await tab.page.keyboard.press("Escape");
    await tab.view(/Functions/);
    await tab.page.locator(".functions .row", { hasText: "lift_droplet" }).waitFor();
    await tab.pictures("3-functions");
    await tab.view(/Call tree/);
    await tab.page.getByRole("button", { name: "Expand hottest path" }).click();
    await tab.page.locator(".row", { hasText: "lift_droplet" }).first().waitFor();
    await tab.pictures("3-call-tree");
    await tab.view(/Flame graph/);
  });

  scene(
    "4 by perftab view and a real debuginfod, for a binary that only that server has",
    async (t) => {
      if (!isInstalled("debuginfod")) {
        console.log("SKIPPED: names by perftab view and debuginfod: debuginfod is not installed");
        return t.skip();
      }
      mkdirSync(parts.path("served", "bin"), { recursive: true });
      copyFileSync(files.renamed, parts.path("served", "bin", "any-name"));
      const server = await parts.debuginfod(parts.path("served"));
      const viewer = await Tab.open(await parts.view(recording, "--debuginfod", server));
      const { page } = viewer;
      await viewer.opened();
      assert.equal((await viewer.ledger()).tides.status, "missing");
      await assertUnnamed(viewer);
      await page.getByRole("button", { name: /^Fetch \d from debuginfod$/ }).click();
      const asks = page.getByRole("dialog", { name: "Fetch from debuginfod" });
      await asks.waitFor();
      assert.match(await asks.innerText(), new RegExp(server.replaceAll(".", "\\.")), "who is asked is said before");
      assert.match(await page.locator(".status-network").innerText(), /^Nothing was sent/);
      await viewer.pictures("4-before-fetching");
      await asks.getByRole("button", { name: /^Fetch \d$/ }).click();
      await viewer.status("tides", "matched");
      await page
        .locator(".dso-row", { hasText: "driftwood" })
        .getByText(/^Not on /)
        .waitFor();
      await page.locator(".status-work").waitFor({ state: "detached" });
      await page.locator(".status-network", { hasText: /^Sent \d build-ids/ }).waitFor();
      const functions = await viewer.functions();
      assertNamed(functions);
      const driftwood = functions.filter(({ dso }) => dso === "driftwood");
      assert.ok(driftwood.every(({ name }) => /0x/.test(name)));
      const panel = await viewer.select("lift_droplet");
      assert.match(await panel.locator("dt:text-is('Source') + dd").innerText(), /tides\.c:\d+$/);
      await page.keyboard.press("/");
      await page.keyboard.press("Escape");
      await viewer.panel("DSOs");
      await viewer.pictures("4-from-debuginfod");
      const libc = (await viewer.ledger())["libc.so.6"];
      assert.equal(libc.status, "matched", "this machine's own libc is found by perftab view itself");
      await viewer.close();
    },
    { tier: "all" },
  );

  scene(
    "5 libc is named by the debug file of libc6-dbg, chosen in the picker",
    async (t) => {
      const libc = (await tab.ledgerInDock())["libc.so.6"];
      const debug = `/usr/lib/debug/.build-id/${libc.buildId.slice(0, 2)}/${libc.buildId.slice(2)}.debug`;
      if (!existsSync(debug)) {
        console.log(`SKIPPED: libc named from libc6-dbg: there is no ${debug}`);
        return t.skip();
      }
      const isSorting = ({ name, dso }) => dso === "libc.so.6" && /^msort_with_tmp/.test(name);
      assert.equal((await tab.functions()).find(isSorting), undefined, "static in libc: unnamed so far");
      await tab.pick(() => tab.page.getByRole("button", { name: "Add files…" }).click(), debug);
      await tab.status("libc.so.6", "matched");
      seen.functions = await tab.functions();
      const sorting = seen.functions.find(isSorting);
      assert.ok(sorting.self > 0);
      const panel = await tab.select("msort_with_tmp");
      assert.match(await panel.locator("dt:text-is('Source') + dd").innerText(), /msort\.c:\d+$/);
      await tab.pictures("5-libc");
      await tab.page.keyboard.press("/");
      await tab.page.keyboard.press("Escape");
    },
    { tier: "all" },
  );

  scene("a17 a link opens with the same names and totals where the profile was never seen", async () => {
    seen.ledger = statuses(await tab.ledgerInDock());
    seen.functions = await tab.functions();
    const page = tab.page;
    await page.getByRole("button", { name: "Share" }).click();
    const dialog = page.getByRole("dialog", { name: "Share this profile" });
    const links = {};
    for (const [name, most] of [
      ["Slack", 4_000],
      ["GitHub", 65_536],
    ]) {
      await dialog.getByRole("radio", { name: new RegExp(name) }).check();
      await dialog.locator(".share-actions", { hasText: /characters/ }).waitFor();
      await dialog.getByText(/of [\d,]+ call nodes/).waitFor();
      await tab.pictures(`a17-share-${name.toLowerCase()}`);
      await tab.settled();
      links[name] = await tab.copied(() => dialog.getByRole("button", { name: "Copy link" }).click());
      await dialog.getByRole("button", { name: "Copy link" }).waitFor();
      assert.ok(links[name].length <= most, `${links[name].length} characters are too many for ${name}`);
      const said = await dialog.locator(".share-actions strong").innerText();
      assert.equal(said, `${links[name].length.toLocaleString("en-US")} characters`);
    }
    const words = await dialog.locator(".keeps").innerText();
    assert.match(words, /nothing folded/);
    await page.keyboard.press("Escape");
    seen.link = links.GitHub;
    const payload = seen.link.slice(seen.link.indexOf("#"));

    const fresh = await Tab.open(host + payload, { offline: true });
    await fresh.opened();
    assert.deepEqual(await fresh.functions(), seen.functions);
    assert.deepEqual(statuses(await fresh.ledger()), seen.ledger);
    await fresh.page.locator(".tag", { hasText: "Link" }).waitFor();
    await fresh.pictures("a17-from-link");
    assert.deepEqual(fresh.refused, []);
    await fresh.close();

    const pasted = await Tab.open(host, { offline: true });
    const open = async (text) => {
      await pasted.page.getByRole("textbox", { name: /perftab link/ }).fill(text);
      await pasted.page.getByRole("button", { name: "Open link" }).click();
    };
    await open("perf.data");
    await pasted.page.locator(".toast-error", { hasText: "neither a perftab link" }).waitFor();
    await open(seen.link);
    await pasted.opened();
    assert.equal(await pasted.page.locator(".toast-error").count(), 0, "what was refused before is forgotten");
    assert.deepEqual(await pasted.functions(), seen.functions);
    await pasted.close();

    const short = await Tab.open(host + links.Slack.slice(links.Slack.indexOf("#")), { offline: true });
    await short.opened();
    const all = (functions) => functions.reduce((sum, { self }) => sum + self, 0);
    assert.equal(all(await short.functions()), all(seen.functions), "totals are exact in a short link too");
    assert.deepEqual(statuses(await short.ledger()), seen.ledger);
    await short.picture("6-from-short-link");
    await short.close();
  });

  scene("a18 a saved page opens from disk, offline, with the same names and totals", async () => {
    const page = tab.page;
    await page.getByRole("button", { name: "Share" }).click();
    await page.getByRole("button", { name: "Page", exact: true }).click();
    await tab.pictures("a18-save-as-page");
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Save as HTML" }).click(),
    ]);
    const saved = parts.path("saved", download.suggestedFilename());
    await download.saveAs(saved);
    await page.keyboard.press("Escape");

    const fresh = await Tab.open(pathToFileURL(saved).href, { offline: true });
    await fresh.opened();
    assert.deepEqual(await fresh.functions(), seen.functions);
    assert.deepEqual(statuses(await fresh.ledger()), seen.ledger);
    assert.deepEqual(fresh.refused, []);
    await fresh.pictures("a18-saved-page");
    await fresh.close();
  });
});
