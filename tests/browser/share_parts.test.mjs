// What leaves the page as a link or a file, and what whoever opens it sees: all of a profile or a part of it, how the
// sender looked at it, and the way back to what was open before.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { describe } from "node:test";
import { pathToFileURL } from "node:url";
import { writeCrowd } from "./crowd.mjs";
import { seconds } from "./limits.mjs";
import { Parts } from "./recording.mjs";
import { afterScenes, beforeScenes, scene } from "./scene.mjs";
import { QUERY, Tab, axe } from "./tab.mjs";

const parts = new Parts();
let host;
/** The same page at another origin. */
let elsewhere;
let program;
let recording;

beforeScenes(async () => {
  program = parts.compile(["tides"]);
  recording = parts.record("tides.perf.data", ["-F", "999"], [program, "30"]);
  host = await parts.host();
  elsewhere = await parts.host();
});

afterScenes(() => parts.end());

/** A tab with the recording and its names, at `fragment`. */
async function opened(fragment = "", options = {}) {
  const tab = await Tab.open(host + fragment, options);
  await tab.drop(recording);
  await tab.page.locator(".file-name", { hasText: "tides.perf.data" }).waitFor();
  await tab.drop(program);
  await tab.status("tides", "matched");
  await tab.settled();
  return tab;
}

/** The share dialog, opened by its key. */
async function dialogOf(tab) {
  await tab.page.keyboard.press("Control+s");
  const dialog = tab.page.getByRole("dialog", { name: "Share this profile" });
  await dialog.waitFor();
  return dialog;
}

/** The link that the dialog has made. */
async function linkOf(dialog) {
  const made = dialog.getByRole("button", { name: "Copy link" });
  await made.and(dialog.locator(":enabled")).waitFor();
  return dialog.getByRole("textbox", { name: "The link" }).innerText();
}

const payloadOf = (link) => link.slice(link.indexOf("#"));

/** Samples that are shown, and of how many. */
async function showing(page) {
  const [, shown, all] = /Showing ([\d,]+) of ([\d,]+) samples/.exec(await page.locator(".showing").innerText());
  return { shown, all };
}

describe("a link", () => {
  scene("of what is shown is a part, and says of how much", async () => {
    const tab = await opened("#s2&step=collapse-recursion&step=search;rolling_sea");
    const { shown, all } = await showing(tab.page);
    assert.notEqual(shown, all);
    const dialog = await dialogOf(tab);
    await dialog.getByRole("button", { name: "What is shown" }).click();
    await dialog.getByText(`Contains only what is left after 2 filters: ${shown} of ${all} samples.`).waitFor();
    const link = await linkOf(dialog);
    await tab.close();

    const fresh = await Tab.open(host + payloadOf(link), { offline: true });
    await fresh.opened();
    assert.deepEqual(await showing(fresh.page), { shown, all: shown });
    await fresh.page.getByText(`part of a recording with ${all}`).waitFor();
    assert.equal(await fresh.page.getByRole("button", { name: /^Remove/ }).count(), 0, "what made it a part is no filter of it");
    assert.deepEqual(fresh.refused, []);
    await fresh.close();
  });

  scene("of all opens as the sender looked at it, and its filters can be taken away", async () => {
    const tab = await opened("#s2&view=functions&step=search;rolling_sea&search=sea");
    const { shown, all } = await showing(tab.page);
    const dialog = await dialogOf(tab);
    await dialog.getByText("Contains the whole profile. Your filter is included; readers can remove it.").waitFor();
    const link = await linkOf(dialog);
    await tab.close();

    const fresh = await Tab.open(elsewhere + payloadOf(link), { offline: true });
    await fresh.page.getByRole("tab", { name: /Functions/, selected: true }).waitFor();
    await fresh.settled();
    assert.deepEqual(await showing(fresh.page), { shown, all });
    assert.equal(await fresh.page.locator(".search input").inputValue(), "sea");
    await fresh.page
      .getByRole("button", { name: /^Remove/ })
      .first()
      .click();
    await fresh.page.getByText(`Showing ${all} of ${all} samples`).waitFor();
    assert.deepEqual(fresh.refused, []);
    await fresh.close();

    // What the address says itself wins.
    const other = await Tab.open(`${host}${payloadOf(link)}&s2&view=tree`);
    await other.page.getByRole("tab", { name: /Call tree/, selected: true }).waitFor();
    await other.settled();
    assert.deepEqual(await showing(other.page), { shown: all, all });
    await other.close();
  });

  scene(
    "may be as long as somebody says, and says when that is too short",
    async () => {
      const tab = await opened();
      const dialog = await dialogOf(tab);
      const field = dialog.getByRole("spinbutton", { name: "Length limit in characters" });
      await field.fill("1234");
      await field.press("Enter");
      await dialog.getByText("of 1,234").waitFor();
      const link = await linkOf(dialog);
      assert.ok(link.length <= 1234, `${link.length} characters`);
      await field.fill("40");
      await field.press("Enter");
      await dialog
        .getByText(/needs at least [\d,]+ characters/)
        .first()
        .waitFor();
      await tab.close();
    },
    { tier: "all" },
  );

  scene(
    "says what it keeps, under the coverage meter and where calls were folded",
    async () => {
      const tab = await opened();
      const all = await tab.ask("share", { budget: 65_536, base: "", options: { times: "none" } });
      const budget = Math.floor(all.characters * 0.8);
      const { payload, fidelity } = await tab.ask("share", { budget, base: "", options: {} });
      assert.ok(fidelity.kept_nodes < fidelity.total_nodes, "something is folded");
      const before = await tab.ask("shown", {
        query: { ...QUERY, processes: [], threads: [], cpus: [], comms: [], dsos: [], steps: [] },
      });
      await tab.close();

      const fresh = await Tab.open(`${host}#${payload}`);
      await fresh.opened();
      await fresh.page.locator(".tag", { hasText: "Link" }).waitFor();
      await fresh.page.locator(".coverage-meter .kept", { hasText: /^keeps [\d.]+\s%: all calls ≥ [\d.]+\s%$/ }).waitFor();
      const there = await showing(fresh.page);
      assert.equal(Number(there.all.replaceAll(",", "")), before.allSamples, "folded or not, every sample counts");
      await fresh.view(/Call tree/);
      await fresh.page.getByRole("button", { name: "Expand hottest path" }).click();
      await fresh.picture("share-folded");
      await fresh.close();
    },
    { tier: "all" },
  );

  scene(
    "opens zoomed into what the sender was, and leaves a range out that it cannot show",
    async () => {
      const tab = await opened("#s2&range=0.1-500");
      await tab.opened();
      await tab.page.keyboard.press("2");
      await tab.tree().focus();
      for (const key of ["ArrowDown", "ArrowDown", "Enter"]) await tab.page.keyboard.press(key);
      const zoomed = tab.page.locator(".breadcrumb [aria-current]");
      const name = await zoomed.innerText();
      // Too few for every sample, even without lines and addresses, which are the first to go.
      const privacy = { files: "left-out", addresses: "left-out" };
      const { characters } = await tab.ask("share", { budget: 65_536, base: "", options: { privacy } });
      const few = characters - 1;
      const dialog = await dialogOf(tab);
      await dialog.getByText("This view: flame graph, zoom, 1 filter").waitFor();
      const field = dialog.getByRole("spinbutton", { name: "Length limit in characters" });
      await field.fill(String(few));
      await field.press("Enter");
      await dialog.getByText(`of ${few.toLocaleString("en-US")}`).waitFor();
      await dialog.getByText("without range").waitFor();
      const link = await linkOf(dialog);
      await tab.close();
      const fresh = await Tab.open(host + payloadOf(link));
      await fresh.opened();
      await fresh.page
        .getByText("The sender’s filter by range is not applied: this link has no individual samples.")
        .first()
        .waitFor();
      await fresh.page.locator(".breadcrumb [aria-current]", { hasText: name }).waitFor();
      await fresh.close();
    },
    { tier: "all" },
  );

  scene("that came broken says how, and can be pasted again", async () => {
    const tab = await opened();
    const { payload } = await tab.ask("share", { budget: 4_000, base: "", options: {} });
    await tab.close();
    const changed = payload.slice(0, 100) + (payload[100] === "A" ? "B" : "A") + payload.slice(101);
    const cut = payload.slice(0, payload.length - 60);
    const number = (value) => value.toLocaleString("en-US");
    for (const [broken, words] of [
      ["p2.AAAA", "This link needs perftab 2. This is perftab 1."],
      [cut, `This link is cut off: ${number(cut.length)} of ${number(payload.length)} characters arrived.`],
      [changed, "The link was changed in transit: its checksum does not match."],
    ]) {
      const fresh = await Tab.open(`${host}#${broken}`);
      await fresh.page.getByRole("alert").filter({ hasText: words }).waitFor();
      await fresh.page.getByRole("button", { name: "Paste the link again" }).click();
      await fresh.page.keyboard.insertText(`${elsewhere}#${payload}`);
      await fresh.page.keyboard.press("Enter");
      await fresh.opened();
      await fresh.close();
    }
  });

  scene(
    "that a reply quotes opens, pasted into the field or anywhere",
    async () => {
      const tab = await opened();
      const { payload } = await tab.ask("share", { budget: 4_000, base: "", options: {} });
      await tab.close();
      const lines = `See ${elsewhere}#${payload}`
        .match(/.{1,72}/g)
        .map((line) => `> ${line}`)
        .join("\r\n");
      const quoted = `Thanks!\r\n\r\n${lines}\r\n`;
      for (const selector of ["body", "input[aria-label^='perftab link']"]) {
        const fresh = await Tab.open(host);
        await fresh.page.locator(selector).waitFor();
        const isTaken = await fresh.page.locator(selector).evaluate((target, text) => {
          const clipboardData = new DataTransfer();
          clipboardData.setData("text/plain", text);
          const paste = new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true });
          return !target.dispatchEvent(paste);
        }, quoted);
        assert.ok(isTaken, `${selector} leaves what was pasted to the browser`);
        if (selector !== "body") await fresh.page.getByRole("button", { name: "Open link" }).click();
        await fresh.opened();
        await fresh.close();
      }
    },
    { tier: "all" },
  );

  scene(
    "that came packed opens, as does a page, when it is dropped and on the command line",
    async () => {
      const tab = await opened();
      const { payload } = await tab.ask("share", { budget: 4_000, base: "", options: {} });
      await tab.close();
      const link = parts.path("link.txt");
      writeFileSync(link, `Look at this:\n${elsewhere}#${payload}\n`);
      const page = parts.path("profile.html");
      parts.perftab("export", "--to", "html", "-o", page, recording);
      for (const [file, packer, ending, tag] of [
        [link, "gzip", "gz", "Link"],
        [link, "xz", "xz", "Link"],
        [page, "zstd", "zst", "Page"],
      ]) {
        const packed = parts.pack(packer, file, ending);
        const fresh = await Tab.open(host);
        await fresh.drop(packed);
        await fresh.page.locator(".tag", { hasText: tag }).waitFor();
        await fresh.opened();
        await fresh.close();
        assert.equal(parts.json("report", "--json", packed).format.mode, tag.toLowerCase());
      }
      // What is no text is still what it was.
      const notes = parts.path("notes.txt");
      writeFileSync(notes, "no link at all");
      const fresh = await Tab.open(host);
      await fresh.drop(parts.pack("gzip", notes, "gz"));
      await fresh.page.getByRole("alert").filter({ hasText: "notes.txt.gz" }).waitFor();
      await fresh.close();
    },
    { tier: "all" },
  );

  scene("opened over a file leads back to it", async () => {
    const tab = await opened("#s2&view=functions");
    const { payload } = await tab.ask("share", { budget: 4_000, base: "", options: {} });
    await tab.page.evaluate((payload) => {
      location.hash = payload;
    }, payload);
    await tab.page.locator(".tag", { hasText: "Link" }).waitFor();
    await tab.settled();
    await tab.page.goBack();
    await tab.page.locator(".file-name", { hasText: "tides.perf.data" }).waitFor();
    await tab.page.getByRole("tab", { name: /Functions/, selected: true }).waitFor();
    await tab.status("tides", "matched");
    await tab.page.goForward();
    await tab.page.locator(".tag", { hasText: "Link" }).waitFor();
    await tab.close();
  });

  scene(
    "of 2,000,000 characters opens and has the numbers of its recording",
    async () => {
      const crowd = writeCrowd(parts, 38_000);
      const { link, characters, fidelity } = parts.json(
        "share",
        crowd.recording,
        "--image",
        crowd.library,
        "--budget",
        "2000000",
        "--json",
      );
      assert.equal(characters, link.length);
      assert.ok(characters > 1_940_000 && characters <= 2_000_000, `${characters} characters`);
      assert.ok(fidelity.kept_nodes > 30_000 && fidelity.kept_nodes < fidelity.total_nodes, JSON.stringify(fidelity));
      const fresh = await Tab.open(host + payloadOf(link));
      // Such a link takes seconds, on a busy machine many: so has the scene.
      fresh.page.setDefaultTimeout(seconds(240));
      await fresh.opened();
      const { events } = await fresh.ask("info");
      assert.deepEqual(
        events.map(({ name, samples, weight }) => [name, samples, weight]),
        [["cpu-clock", crowd.samples, crowd.weight]],
      );
      const functions = await fresh.functions();
      assert.equal(
        functions.reduce((sum, { self }) => sum + self, 0),
        crowd.weight,
      );
      assert.ok(functions.length > 30_000, `${functions.length} functions`);
      await fresh.close();
    },
    { tier: "all", limit: seconds(300) },
  );
});

describe("a page", () => {
  scene(
    "is as large as it says, and opens with what its sender saw, without network",
    async () => {
      const tab = await opened("#s2&view=tree&step=search;rolling_sea");
      const { shown, all } = await showing(tab.page);
      const dialog = await dialogOf(tab);
      await dialog.getByRole("button", { name: "Page", exact: true }).click();
      const save = dialog.getByRole("button", { name: "Save as HTML" });
      await save.waitFor();
      const said = await dialog
        .getByRole("row", { name: /^Total/ })
        .getByRole("cell")
        .innerText();
      const [download] = await Promise.all([tab.page.waitForEvent("download"), save.click()]);
      const saved = parts.path("saved.html");
      await download.saveAs(saved);
      await dialog.getByText(/^Saved tides\.perf\.html, /).waitFor();
      assert.ok((await dialog.getByText(/^Saved /).innerText()).includes(said), `${said} was saved`);
      await tab.close();

      const fresh = await Tab.open(pathToFileURL(saved).href, { offline: true });
      await fresh.page.locator(".tag", { hasText: "Page" }).waitFor();
      await fresh.page.getByRole("tab", { name: /Call tree/, selected: true }).waitFor();
      await fresh.settled();
      assert.deepEqual(await showing(fresh.page), { shown, all });
      for (const view of await fresh.page.locator(".view-tabs [role=tab]").all()) {
        await view.click();
        await fresh.settled();
        assert.equal(await fresh.page.getByText("no individual samples").count(), 0, await view.innerText());
      }
      assert.deepEqual(fresh.refused, []);
      await fresh.close();
    },
    { tier: "all" },
  );
});

describe("the dialog", () => {
  scene(
    "opens by its key in a comparison, and says which profile it shares",
    async () => {
      const other = parts.record("other.perf.data", ["-F", "999"], [program, "12"]);
      const tab = await Tab.open(host);
      await tab.drop(recording, other);
      await tab.page.getByRole("button", { name: "Open both to compare" }).click();
      await tab.page.getByRole("heading", { name: "Comparing two profiles" }).waitFor();
      await tab.settled();
      const dialog = await dialogOf(tab);
      await dialog.getByText(/^Contains only (tides|other)\.perf\.data, not the profile it is compared with\.$/).waitFor();
      await linkOf(dialog);
      await tab.close();
    },
    { tier: "all" },
  );

  scene(
    "is usable by anybody, in every size and theme",
    async () => {
      const tab = await opened("#s2&step=search;rolling_sea", { initPath: axe });
      const dialog = await dialogOf(tab);
      for (const name of ["Link", "Page", "Export"]) {
        await dialog.getByRole("button", { name, exact: true }).click();
        if (name === "Link") await linkOf(dialog);
        if (name === "Page") await dialog.getByRole("button", { name: "Save as HTML" }).waitFor();
        assert.deepEqual(await tab.findings(), [], name);
        await tab.pictures(`share-${name.toLowerCase()}`);
      }
      await tab.close();
    },
    { tier: "all" },
  );
});

describe("a binary dropped on a link", () => {
  scene(
    "names what has no name if it is the right build, and gets a verdict if it is not",
    async () => {
      const tab = await Tab.open(host);
      await tab.drop(recording);
      await tab.opened();
      const { payload } = await tab.ask("share", { budget: 65_536, base: "", options: {} });
      await tab.close();
      const wrong = parts.compile(["wrong", "tides"], "-O0");
      const junk = parts.path("notes.txt");
      writeFileSync(junk, "no binary at all");

      const fresh = await Tab.open(`${host}#${payload}`, { offline: true });
      await fresh.opened();
      const names = async () => (await fresh.functions()).filter(({ dso }) => dso === "tides").map(({ name }) => name);
      assert.ok(
        (await names()).every((name) => name.startsWith("0x")),
        "addresses",
      );
      await fresh.drop(wrong);
      await fresh.status("tides", "mismatched");
      assert.ok(
        (await names()).every((name) => name.startsWith("0x")),
        "another build names nothing",
      );
      await fresh.drop(junk);
      await fresh.drop(program);
      await fresh.status("tides", "matched");
      assert.ok((await names()).includes("rolling_sea"));
      assert.deepEqual(fresh.refused, []);
      await fresh.close();
    },
    { tier: "all" },
  );
});
