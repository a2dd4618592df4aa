// Can this profile be trusted: what the page says of it agrees with the command line, each status has its glyph, word and
// detail, and the ledger is usable by touch alone.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { describe } from "node:test";
import { ON_PHONE, PHONE } from "./pictures.mjs";
import { Parts, buildId, samplesByPerf } from "./recording.mjs";
import { afterScenes, beforeScenes, eventually, scene } from "./scene.mjs";
import { QUERY, Tab } from "./tab.mjs";

const parts = new Parts();
let host;
let recording;
const files = {};

/** Code that a JIT compiler makes: nothing holds it but memory. */
const JIT = "let n = 1; while (process.cpuUsage().user < 4e5) for (let i = 0; i < 1e5; i++) n = (n * 48271) % 2147483647;";

beforeScenes(async () => {
  // The same source gives the same build-id, unless it is compiled otherwise.
  const builds = { tides: ["-O2"], eddy: ["-O2", "-falign-functions=64"], ripple: ["-O1"], driftwood: ["-Os"] };
  for (const [name, options] of Object.entries(builds)) files[name] = parts.compile(["recorded", name], ...options);
  for (const name of ["eddy", "ripple"]) files[`other ${name}`] = parts.compile(["other", name], "-O1", "-DNEAP");
  const programs = ["tides", "eddy", "ripple", "driftwood"].map((name) => `${files[name]} 12`).join("; ");
  recording = parts.record("six.perf.data", ["-F", "999"], ["sh", "-c", `${programs}; node -e '${JIT}'`]);
  host = await parts.host();
});

afterScenes(() => parts.end());

async function opened(options) {
  const tab = await Tab.open(host, options);
  await tab.drop(recording);
  await tab.opened();
  return tab;
}

/** The parts of the coverage bar, as its legend says them. */
async function legend(tab) {
  const said = await tab.page.locator(".coverage-block .legend li").allInnerTexts();
  return Object.fromEntries(said.map((text) => [text.replace(/ [\d.]+$/, ""), Number(/[\d.]+$/.exec(text)[0])]));
}

const inTenths = (percent) => Math.round(percent * 10);

/** Drops the other build of a program, and insists on it. */
async function force(tab, name) {
  await tab.drop(files[`other ${name}`]);
  await (await tab.status(name, "mismatched")).getByRole("button", { name: `Why? ${name}` }).click();
  await tab.page.getByRole("button", { name: "Force…" }).click();
  const dialog = tab.page.getByRole("dialog", { name: "Use this file anyway (unsafe)" });
  await dialog.getByRole("textbox").fill(name);
  await dialog.getByRole("button", { name: "Force" }).click();
  await tab.page.getByRole("region", { name: "Unsafe names" }).waitFor();
  await tab.page.keyboard.press("Escape");
  await tab.page.getByRole("tab", { name: "DSOs" }).waitFor();
}

describe("what the page says of a profile", () => {
  scene("no row of the ledger moves while the pointer or the focus is among them", async () => {
    const tab = await opened();
    const { page } = tab;
    const names = () => page.locator(".dso-row .dso-name").allInnerTexts();
    const namedRow = (name) =>
      page.getByRole("region", { name: "Named" }).getByRole("button", { name, exact: true }).waitFor({ state: "visible" });
    const before = await names();
    await (await tab.status("tides", "missing")).hover();
    await tab.drop(files.tides);
    await tab.status("tides", "matched");
    await tab.settled();
    assert.deepEqual(await names(), before);
    await page.mouse.move(300, 400);
    await namedRow("tides");

    const then = await names();
    await page.getByRole("button", { name: "eddy", exact: true }).focus();
    await tab.drop(files.eddy);
    await tab.status("eddy", "matched");
    await tab.settled();
    assert.deepEqual(await names(), then);
    await page.evaluate(() => document.activeElement.blur());
    await namedRow("eddy");
    await tab.close();
  });

  scene("a02 agrees with the command line: coverage, DSOs, warnings, and how much is shown", async () => {
    const tab = await opened();
    await tab.drop(files.tides, files.eddy);
    await tab.status("eddy", "matched");
    await tab.settled();
    // The command line is given the same two files, and nothing else of this machine.
    const given = ["--no-local", "--buildid-dir", parts.path("empty", "x"), "--image", files.tides, "--image", files.eddy];
    const report = parts.json("report", recording, "--json", ...given);
    const info = parts.json("info", recording, "--json", "--no-local");

    const { samples, named_leaves: named } = report.coverage;
    const whole = Math.round((named / samples) * 1000) / 10;
    const headline = await tab.page.locator(".coverage-line strong").innerText();
    assert.match(headline, /^[\d.]+\s% of samples end in a named frame$/);
    assert.ok(Math.abs(Number.parseFloat(headline) - whole) < 0.11, `${headline}, ${whole} by the command line`);
    const tip = await tab.page.locator(".coverage-line").getAttribute("title");
    const byFrames = ((report.coverage.named / report.coverage.frames) * 100).toFixed(1);
    assert.ok(tip.includes(`${byFrames}\u202f% of all frames are named.`), tip);

    const ledger = await tab.ledger();
    const used = report.dsos.filter((row) => row.samples > 0);
    assert.deepEqual(
      Object.fromEntries(Object.entries(ledger).map(([name, { status, buildId }]) => [name, [status, buildId]])),
      Object.fromEntries(used.map(({ name, status, build_id }) => [name, [status, build_id ?? ""]])),
    );
    for (const { name, leaf_share } of used) {
      const rest = leaf_share > 0 && leaf_share < 0.0005;
      assert.equal(ledger[name].share.replace(/\s/g, ""), rest ? "<0.1%" : `${(leaf_share * 100).toFixed(1)}%`, name);
    }

    const total = Object.values(samplesByPerf(recording)).reduce((sum, count) => sum + count, 0);
    assert.equal(total, info.samples);
    const shown = await tab.page.getByText(/^Showing /).innerText();
    assert.match(shown, new RegExp(`^Showing ${total.toLocaleString("en-US")} of ${total.toLocaleString("en-US")} samples`));
    const button = tab.page.locator(".warnings-button");
    const warned = (await button.count()) === 0 ? 0 : Number.parseInt(await button.getAttribute("aria-label"), 10);
    assert.equal(warned, info.warnings.length);
    await tab.pictures("a02-agrees", { sheet: "full" });
    await tab.close();
  });

  scene("a03 each of seven statuses has its glyph, word and detail, and the parts add up to 100.0", async () => {
    const tab = await opened();
    await tab.drop(files.tides);
    await tab.status("tides", "matched");
    await force(tab, "eddy");
    await tab.drop(files["other ripple"]);
    await tab.status("ripple", "mismatched");
    await tab.settled();
    const found = buildId(files["other ripple"]).slice(0, 8);
    const wanted = buildId(files.ripple).slice(0, 8);
    const unsafe = buildId(files["other eddy"]).slice(0, 8);
    const expected = [
      ["tides", "matched", "Matched", "inlines and source lines", null],
      ["[kernel.kallsyms]", "embedded", "Embedded", "Symbols recorded with the profile", null],
      ["driftwood", "missing", "Missing", "Add driftwood or its .debug file", "Fetch driftwood"],
      ["ripple", "mismatched", "Mismatched", `You added build ${found}…; the profile has ${wanted}…`, "Why? ripple"],
      ["eddy", "forced", "Forced", `Unsafe: from build ${unsafe}…`, "Stop using the file for eddy"],
    ];
    const glyphs = new Set();
    for (const [name, status, word, detail, action] of expected) {
      const row = await tab.status(name, status);
      assert.equal((await row.locator(".dso-status span").first().innerText()).trim(), word);
      assert.equal((await row.locator(".dso-detail > span").first().innerText()).trim(), detail);
      glyphs.add(await row.locator(".status-glyph svg").innerHTML());
      if (action !== null) await row.getByRole("button", { name: action }).waitFor();
    }
    const anonymous = tab.page.locator('.dso-row[data-status="no-identity"]').first();
    assert.match(await anonymous.locator(".dso-status").innerText(), /^No identity\s+none$/);
    assert.equal(await anonymous.locator(".dso-detail > span").first().innerText(), "Memory without a file has no build-id");
    glyphs.add(await anonymous.locator(".status-glyph svg").innerHTML());
    assert.equal(glyphs.size, 6, "six glyphs, told apart by shape");
    const stripped = parts.path("stripped", "driftwood");
    execFileSync("strip", ["-o", stripped, files.driftwood]);
    await tab.drop(stripped);
    const nameless = await tab.status("driftwood", "no-symbols");
    assert.match(await nameless.locator(".dso-status").innerText(), /^No symbols/);
    assert.equal(
      await nameless.locator(".dso-detail > span").first().innerText(),
      "driftwood has no symbols. Add its .debug file",
    );
    await nameless.getByRole("button", { name: "Fetch driftwood" }).waitFor();
    glyphs.add(await nameless.locator(".status-glyph svg").innerHTML());
    assert.equal(glyphs.size, 7, "and the seventh");
    // What the group says is what the headline says.
    const named = tab.page.getByRole("region", { name: "Named", exact: true }).locator(".group-head .push-right");
    const headline = Number.parseFloat(await tab.page.locator(".coverage-line").innerText());
    assert.ok(Math.abs(Number.parseFloat(await named.innerText()) - headline) < 0.06);

    const said = await legend(tab);
    assert.deepEqual(
      Object.keys(said).sort(),
      ["forced", "mismatched", "missing", "named", "no identity", "no symbol"].filter((word) => word in said).sort(),
    );
    assert.equal(
      Object.values(said).reduce((sum, part) => sum + inTenths(part), 0),
      1000,
    );
    assert.equal(inTenths(Number.parseFloat(await tab.page.locator(".coverage-line").innerText())), inTenths(said.named));
    await tab.pictures("a03-statuses", { sheet: "full" });
    await tab.page.getByRole("button", { name: /\d+ of \d+ named/ }).click();
    for (const head of ["Status", "DSO", "Recorded build-id", "Self", "Total"])
      await tab.page.getByRole("columnheader", { name: head, exact: true }).waitFor();
    await tab.pictures("a03-full-width");
    await tab.close();
  });

  scene("a08 a forced name has its mark in the card, the search and a step of the query too", async () => {
    const tab = await opened();
    await force(tab, "eddy");
    const { page } = tab;
    const forced = (await tab.functions())
      .filter(({ flags, dso }) => flags & 2 && dso === "eddy")
      .sort((a, b) => b.total - a.total);
    const name = forced[0].name;
    const panel = await tab.select(name);
    assert.match(await panel.locator("h2").innerText(), /^≠ /);
    await tab.tree().locator('[aria-selected="true"][aria-label*=", forced, "]').waitFor({ state: "attached" });
    await tab.pictures("a08-search", { sheet: "full" });
    await page.keyboard.press("Escape");
    await tab.tree().focus();
    await page.keyboard.press("f");
    const step = page.locator(".filter-chip", { hasText: name });
    await step.filter({ hasText: "≠" }).waitFor();
    await tab.pictures("a08-chip");
    await page.keyboard.press("Control+z");
    await step.waitFor({ state: "detached" });
    await tab.settled();
    // The card of a frame of its own, which is somewhere in the canvas.
    const canvas = page.locator(".flame-sticky");
    const { matches } = await tab.ask("search", { query: QUERY, text: name });
    const { width: widthPx } = await canvas.boundingBox();
    const graph = await tab.ask("flameGraph", {
      query: QUERY,
      window: { root: 0, widthPx, minPx: 0.5, search: "" },
    });
    const box = graph.callNode.findIndex((node, box) => matches.includes(node) && graph.end[box] - graph.start[box] > 4);
    assert.ok(box >= 0, `${name} is somewhere in the graph`);
    const place = {
      row: graph.rowStart.findLastIndex((first) => first <= box),
      across: (graph.start[box] + graph.end[box]) / 2 / widthPx,
    };
    const pointAtIt = async (high) => {
      const { x, y, width } = await canvas.boundingBox();
      await page.mouse.move(x + place.across * width, y + (place.row + 0.4) * high);
      await page.mouse.move(x + place.across * width, y + (place.row + 0.5) * high);
      await page.locator(".hover-card", { hasText: name }).waitFor();
    };
    await pointAtIt(18);
    const card = await page.locator(".hover-card").innerText();
    assert.match(card, /^≠ /);
    await tab.pictures("a08-card", {
      // Rows are higher where fingers point at them.
      arrange: (width) => pointAtIt(width === PHONE ? 24 : 18),
    });
    await tab.close();
  });
});

describe("where filters act", () => {
  scene("the ledger counts what they leave, says so, and counts the whole profile when asked", async () => {
    const tab = await Tab.open(`${host}#s2&comms=tides`);
    const { page } = tab;
    await tab.drop(recording);
    await tab.opened();
    await tab.drop(files.tides);
    await tab.status("tides", "matched");
    const scope = page.locator(".scope-button");
    await scope.getByText("shown samples").waitFor();
    const part = await tab.ledger();
    // The sample ended in one DSO each; perf says in which.
    const perf = parts.leaves(recording, "tides");
    assert.ok(!("ripple" in part) && "tides" in part);
    assert.equal(part.tides.share.replace(/\s/g, ""), `${((perf.tides / perf.all) * 100).toFixed(1)}%`);
    assert.equal(
      Object.values(await legend(tab)).reduce((sum, each) => sum + inTenths(each), 0),
      1000,
    );
    await tab.picture("ledger-of-a-part");
    await scope.click();
    await scope.getByText("whole profile").waitFor();
    assert.ok("ripple" in (await tab.ledger()));
    await tab.close();
  });
});

describe("without colour", () => {
  for (const [colorScheme, tier] of [
    ["light", "fast"],
    ["dark", "all"],
  ]) {
    scene(
      `a20 statuses and unnamed code are told apart in grey, ${colorScheme}`,
      async () => {
        const tab = await opened({ colorScheme });
        const { page } = tab;
        await tab.drop(files.tides);
        await tab.status("tides", "matched");
        await force(tab, "eddy");
        await tab.drop(files["other ripple"]);
        await tab.status("ripple", "mismatched");
        await tab.settled();
        const browser = await page.context().newCDPSession(page);
        await browser.send("Emulation.setEmulatedVisionDeficiency", { type: "achromatopsia" });
        // Grey lasts for as long as this window: both themes are taken in one.
        if (colorScheme === "light") await tab.pictures("a20-grey", { sheet: "full" });
        const looks = new Map();
        for (const status of ["matched", "embedded", "missing", "mismatched", "no-identity", "forced"]) {
          const row = page.locator(`.dso-row[data-status="${status}"]`).first();
          await row.scrollIntoViewIfNeeded();
          const glyph = row.locator(".status-glyph");
          looks.set(status, (await glyph.screenshot({ animations: "disabled" })).toString("base64"));
          assert.notEqual((await row.locator(".dso-status").innerText()).trim(), "");
        }
        assert.equal(new Set(looks.values()).size, 6, "six pictures of six glyphs");
        // What has no name is hatched: its ground and its lines both cover much of it, and differ in lightness too.
        const grey = await page.evaluate(() => {
          const token = (name) => {
            const probe = Object.assign(document.createElement("i"), { style: `color: var(--${name})` });
            document.body.append(probe);
            const [red, green, blue] = getComputedStyle(probe)
              .color.match(/[\d.]+/g)
              .map(Number);
            probe.remove();
            return [red, green, blue];
          };
          const canvas = document.querySelector(".view canvas");
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          // Two fifths of the colour of its kind; the graph has own code and libraries without names.
          return ["g-own", "g-sys"].flatMap((kind) =>
            ["g-unk", "hatch"].map((name) => {
              const of = token(kind);
              const [red, green, blue] = token(name).map((part, channel) => Math.round(part * 0.6 + of[channel] * 0.4));
              let count = 0;
              for (let at = 0; at < data.length; at += 4)
                if (data[at] === red && data[at + 1] === green && data[at + 2] === blue) count++;
              return { count, light: 0.2126 * red + 0.7152 * green + 0.0722 * blue };
            }),
          );
        });
        const [own, ownLine, system, systemLine] = grey;
        assert.ok(own.count + system.count > 1000 && ownLine.count + systemLine.count > 200, JSON.stringify(grey));
        for (const [ground, line] of [
          [own, ownLine],
          [system, systemLine],
        ])
          assert.ok(Math.abs(ground.light - line.light) > 15, JSON.stringify(grey));
        await tab.close();
      },
      { tier },
    );
  }
});

describe("by touch alone", () => {
  scene("a23 the ledger does all that it does with a mouse, and every target is large enough", async () => {
    const tab = await opened({ width: 420, height: 900, touch: true });
    const { page } = tab;
    const sheet = page.locator(".sheet");
    const handle = sheet.locator(".sheet-handle");
    const height = async () => Math.round((await sheet.boundingBox()).height);
    const isHigh = (pixels) => eventually(async () => assert.equal(await height(), pixels));
    await isHigh(64);
    assert.equal(await sheet.getByRole("img", { name: /percent/ }).count(), 1, "the bar of coverage is there");
    await tab.pictures("a23-peek", ON_PHONE);
    await handle.tap();
    await isHigh(290);
    await tab.pictures("a23-half", ON_PHONE);
    await handle.tap();
    await isHigh(Math.round(900 * 0.85));

    // Names: the files chosen, another build explained, forced, stopped, the order changed.
    await tab.pick(() => sheet.getByRole("button", { name: "Add files…" }).tap(), files.tides, files["other eddy"]);
    await tab.status("tides", "matched");
    const row = await tab.status("eddy", "mismatched");
    const lies = await page.evaluate(() => {
      const { x, y, width, height } = document.querySelector(".options-behind-dots").getBoundingClientRect();
      return document.elementFromPoint(x + width / 2, y + height / 2)?.closest(".sheet, .options-behind-dots")?.className;
    });
    assert.match(lies, /^sheet/, "the view's dots lie below the open sheet");
    await tab.pictures("a23-ledger", ON_PHONE);
    await page.getByRole("button", { name: "Dismiss" }).first().tap();
    await row.getByRole("button", { name: "Why? eddy" }).tap();
    const pane = page.getByRole("complementary", { name: "eddy is a different build" });
    await pane.getByRole("button", { name: "Force…" }).tap();
    const dialog = page.getByRole("dialog", { name: "Use this file anyway (unsafe)" });
    await dialog.getByRole("textbox").fill("eddy");
    await dialog.getByRole("button", { name: "Force" }).tap();
    await page.getByRole("region", { name: "Unsafe names" }).getByRole("button", { name: "Stop using this file" }).tap();
    await page.getByRole("region", { name: "Unsafe names" }).waitFor({ state: "detached" });
    await tab.pictures("a23-explained", ON_PHONE);
    await page.getByRole("button", { name: "Close", exact: true }).tap();
    await sheet.waitFor();
    await sheet.getByRole("button", { name: /^Sort DSOs: / }).tap();
    await page.getByRole("button", { name: "By name" }).tap();
    await eventually(async () => {
      const names = await sheet.locator(".dso-name").allInnerTexts();
      assert.deepEqual(
        names,
        [...names].sort((a, b) => a.localeCompare(b)),
      );
    });

    // Fetching asks first, as everywhere.
    await sheet.getByRole("button", { name: /^Fetch \d+ from debuginfod$/ }).tap();
    const ask = page.getByRole("dialog", { name: "Fetch from debuginfod" });
    await ask.getByRole("checkbox", { name: /automatically/ }).waitFor();
    await ask.getByRole("button", { name: "Not now" }).tap();

    const small = () =>
      page.evaluate(() => {
        const bad = [];
        for (const element of document.querySelectorAll(
          ":is(.sheet, .top-bar, .full-head) :is(button, select, input, a[href])",
        )) {
          const box = element.getBoundingClientRect();
          if (box.width === 0 || box.bottom <= 0 || box.top >= innerHeight || getComputedStyle(element).visibility === "hidden")
            continue;
          const after = getComputedStyle(element, "::after");
          const grown =
            after.content !== "none" && after.position === "absolute" ? Number.parseFloat(after.inset.split(" ")[0]) : 0;
          // A target that fills its row counts as high as the row.
          const row = element.classList.contains("dso-name") ? element.closest(".dso-row").getBoundingClientRect().height : 0;
          const high = Math.max(row, box.height - 2 * Math.min(0, grown));
          if (high < 43.5)
            bad.push(`${element.className || element.tagName}: ${element.textContent.trim().slice(0, 30)} ${high.toFixed(0)}`);
        }
        return bad;
      });
    assert.deepEqual(await small(), []);
    await sheet.getByRole("button", { name: "All DSOs" }).tap();
    await page.getByRole("combobox", { name: "Sort DSOs" }).waitFor();
    assert.deepEqual(await small(), []);
    const beside = await page.locator(".full-table table").evaluate((table) => table.getBoundingClientRect().right - innerWidth);
    assert.ok(beside <= 0, `${beside} px of the table are beside the screen`);
    await tab.close();
  });

  scene("a23 lists lie above what they open over, and that of the keys shows keys", async () => {
    const tab = await opened({ width: 420, height: 900, touch: true });
    const { page } = tab;
    /** Whether the middle of an element shows something that lies above it. */
    const covered = (selector, within) =>
      page.evaluate(
        ([selector, within]) => {
          const box = document.querySelector(selector).getBoundingClientRect();
          return document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2)?.closest(within) !== null;
        },
        [selector, within],
      );
    await page.getByRole("button", { name: "Search", exact: true }).tap();
    await page.locator(".search-box input:focus").waitFor();
    await page.keyboard.type(">");
    await page.getByRole("listbox").waitFor();
    assert.ok(await covered(".options-behind-dots", ".search-box"), "commands lie above the dots of the view");
    await page.keyboard.press("Escape");
    // A search that is left and then ended from elsewhere gives the bar back.
    await page.getByRole("button", { name: "Search", exact: true }).tap();
    await page.locator(".search-box input:focus").waitFor();
    await page.keyboard.type("main");
    await page.locator(".breadcrumb").tap();
    await page.evaluate(() => document.activeElement?.blur());
    await page.keyboard.press("Escape");
    // Said at the top, where the menu opens too.
    await tab.drop(files["other ripple"]);
    await page.locator(".toast").waitFor();
    await page.getByRole("button", { name: "Menu", exact: true }).tap();
    assert.ok(await covered(".menu-item", ".menu-item"), "the menu lies above what is said");
    await page.getByRole("button", { name: "Keyboard shortcuts" }).tap();
    await page.locator(".shortcuts kbd:visible", { hasText: "Esc" }).waitFor();
    await tab.pictures("a23-shortcuts", ON_PHONE);
    await tab.close();
  });

  scene("a23 one tap selects a frame, the second zooms, and the sheet offers what can be done to it", async () => {
    const tab = await opened({ width: 420, height: 900, touch: true });
    const { page } = tab;
    const canvas = page.locator(".view canvas").last();
    await canvas.tap({ position: { x: 30, y: 60 } });
    const handle = page.locator(".sheet-handle");
    await handle.getByText("self").waitFor();
    const name = (await handle.locator("strong").first().innerText()).trim();
    assert.notEqual(name, "DSOs");
    await canvas.tap({ position: { x: 30, y: 60 } });
    await page.locator(".breadcrumb [aria-current=location]", { hasText: name }).waitFor();
    await handle.tap();
    await page.locator(".sheet").getByRole("button", { name: "Details" }).tap();
    await page.locator(".sheet .stack").waitFor();
    await tab.pictures("a23-selection", ON_PHONE);
    await tab.close();
  });
});
