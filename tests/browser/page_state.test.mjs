// What the page does when two things happen at once or one after the other: opens that overtake each other, a profile after
// another, presses that end elsewhere than they began, keys in quick succession, a message said twice.
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { describe } from "node:test";
import { html } from "./recording.mjs";
import { afterScenes, beforeScenes, eventually, scene } from "./scene.mjs";
import { Tab } from "./tab.mjs";

const file = (path) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const fixture = (name) => file(`tests/fixtures/${name}.perf.data`);
const [ONE, OTHER] = ["perf-fp", "perf-clock"].map(fixture);

let tab;

/** Runs in the page before its own script: holds what is asked of a recording until it is let go, and counts addresses. */
function holdAndCount() {
  window.perftabHeld = null;
  window.Worker = class extends window.Worker {
    postMessage(message, ...rest) {
      if (window.perftabHeld && message.method === "open") window.perftabHeld.push(() => super.postMessage(message, ...rest));
      else super.postMessage(message, ...rest);
    }
  };
  window.perftabWritten = 0;
  const replace = history.replaceState.bind(history);
  history.replaceState = (...args) => {
    window.perftabWritten += 1;
    replace(...args);
  };
}

beforeScenes(async () => {
  tab = await Tab.open(`file://${html}`, { init: holdAndCount });
  tab.page.setDefaultTimeout(60_000);
  await tab.drop(ONE);
  await tab.opened();
});

afterScenes(() => tab.close());

const fileName = () => tab.page.locator(".file-name").innerText();

describe("opening", () => {
  scene("of two opens at once the last that began wins, whatever ends last", async () => {
    await tab.page.evaluate(() => {
      window.perftabHeld = [];
    });
    await tab.drop(OTHER);
    await tab.page.waitForFunction(() => window.perftabHeld.length === 1);
    await tab.page.evaluate(() => {
      [window.perftabFirst, window.perftabHeld] = [window.perftabHeld, null];
    });
    await tab.drop(fixture("perf-dwarf"));
    await tab.page.locator(".file-name", { hasText: "perf-dwarf" }).waitFor();
    await tab.page.evaluate(() => {
      for (const ask of window.perftabFirst) ask();
    });
    await tab.settled();
    assert.match(await fileName(), /perf-dwarf/);
  });

  scene("another file shows neither the former's thread nor its comparison", async () => {
    const { page } = tab;
    await page.evaluate(() => {
      location.hash = "#s2&view=time-order&thread=1&range=0-0.001&compare=rest.share.after";
    });
    await page.waitForFunction(() => document.querySelector(".compare-bar, .compare") !== null);
    await tab.drop(OTHER);
    await page.locator(".file-name", { hasText: "perf-clock" }).waitFor();
    await tab.settled();
    const hash = await page.evaluate(() => location.hash);
    assert.doesNotMatch(hash, /thread=|compare=/);
    assert.equal(await page.locator(".compare-bar, .compare").count(), 0);
  });
});

describe("the address", () => {
  scene("is not rewritten with every key, and says the last text in the end", async () => {
    const { page } = tab;
    await page.keyboard.press("/");
    await page.locator(".search input:focus").waitFor();
    const text = "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz";
    const before = await page.evaluate((text) => {
      const before = window.perftabWritten;
      const input = document.querySelector(".search input");
      // Faster than anybody types, and as fast on a busy machine.
      for (let length = 1; length <= text.length; length++) {
        input.value = text.slice(0, length);
        input.dispatchEvent(new InputEvent("input", { bubbles: true }));
      }
      return before;
    }, text);
    await page.waitForFunction((text) => location.hash.includes(text), text);
    const written = (await page.evaluate(() => window.perftabWritten)) - before;
    assert.ok(written < text.length / 4, `${written} for ${text.length} keys`);
    await page.locator(".search input").fill("");
    await page.keyboard.press("Escape");
  });
});

describe("dialogs", () => {
  scene("stay when a selection of text ends on the backdrop, and close by a click on it", async () => {
    const { page } = tab;
    await page.keyboard.press("?");
    const dialog = page.locator("dialog[open]");
    const { x, y, height } = await dialog.locator("h2").boundingBox();
    const beside = (await dialog.boundingBox()).x / 2;
    for (const [from, to] of [
      [x + 5, beside],
      [beside, x + 5],
    ]) {
      await page.mouse.move(from, y + height / 2);
      await page.mouse.down();
      await page.mouse.move(to, y + height / 2, { steps: 4 });
      await page.mouse.up();
      assert.equal(await dialog.count(), 1);
    }
    await page.mouse.click(beside, y + height / 2);
    await dialog.waitFor({ state: "detached" });
  });
});

describe("what is spoken", () => {
  /** Notes from now on what a screen reader hears. */
  const listen = () =>
    tab.page.evaluate(() => {
      window.perftabSaid = [];
      window.perftabEar?.disconnect();
      window.perftabEar = new MutationObserver((changes) => {
        for (const { addedNodes } of changes) window.perftabSaid.push(...[...addedNodes].map((node) => node.textContent));
      });
      const region = document.querySelector(".visually-hidden[role=status][aria-live=polite]");
      window.perftabEar.observe(region, { childList: true, subtree: true });
    });

  scene("is said again when it happens again", async () => {
    const { page } = tab;
    await listen();
    for (const times of [1, 2]) {
      // Nothing in it is a binary of this profile, and the page says so.
      await tab.drop(file("README.md"));
      await page.waitForFunction((times) => window.perftabSaid.length === times, times);
    }
    const [one, two] = await page.evaluate(() => window.perftabSaid);
    assert.equal(one, two);
  });

  scene("says of each search that it finds nothing, of the same one again too", async () => {
    const { page } = tab;
    await listen();
    const times = (number) =>
      page.waitForFunction(
        (number) => window.perftabSaid.filter((words) => words.startsWith("Nothing named “not_there”.")).length === number,
        number,
      );
    await page.keyboard.press("/");
    await page.keyboard.insertText("not_there");
    await times(1);
    await page.keyboard.press("Control+a");
    await page.keyboard.insertText("not_here_either");
    await page.locator(".search-panel", { hasText: "not_here_either" }).waitFor();
    await page.keyboard.press("Control+a");
    await page.keyboard.insertText("not_there");
    await times(2);
    await page.keyboard.press("Control+a");
    await page.keyboard.press("Delete");
    await page.keyboard.press("Escape");
  });
});

describe("the line beside the side panel", () => {
  scene("stays where it is once something took the pointer away", async () => {
    const { page } = tab;
    const line = page.getByRole("separator", { name: "Width of the side panel" });
    const { x, y, height } = await line.boundingBox();
    const place = async () => (await line.boundingBox()).x;
    await page.mouse.move(x + 2, y + height / 2);
    await page.mouse.down();
    await page.mouse.move(x - 58, y + height / 2, { steps: 3 });
    await eventually(async () => assert.ok(Math.abs((await place()) - (x - 60)) < 2));
    // A mouse is pointer 1. What shows a dialog of the system takes it like this.
    await line.evaluate((line) => line.releasePointerCapture(1));
    const left = await place();
    await page.mouse.move(x - 58, y + 10, { steps: 3 });
    await page.mouse.move(x - 98, y + 10, { steps: 3 });
    await tab.settled();
    assert.equal(await place(), left);
    await page.mouse.up();
    await line.dblclick();
  });
});

describe("a row of the functions", () => {
  scene("and the panel beside it say the same", async () => {
    const { page } = tab;
    await tab.drop(ONE);
    await page.locator(".file-name", { hasText: "perf-fp" }).waitFor();
    await tab.view(/Functions/);
    await tab.option("Unnamed code", "each address");
    await page.locator(".functions .sort", { hasText: "Total" }).click();
    await tab.panel("Selection");
    const panel = page.locator(".selection");
    let several = 0;
    for (let index = 0; index < 8; index++) {
      await tab.settled();
      const row = page.locator(".functions .row:not(.loading)").nth(index);
      await row.click();
      await panel.locator("h3", { hasText: "Heaviest call" }).waitFor();
      await tab.settled();
      const [self, total] = await row.locator(".number").allInnerTexts();
      const shown = (name) => panel.locator(`dt:text-is("${name}") + dd strong`).allInnerTexts();
      const [totals, selfs] = [await shown("Total"), await shown("Self")];
      assert.deepEqual([selfs[0], totals[0]], [self, total]);
      several += totals[1] === totals[0] ? 0 : 1;
    }
    assert.ok(several > 0, "no function has calls that differ from their sum");
  });
});

describe("call chains", () => {
  scene("are proposed only where the recorder was not told to take them", async () => {
    const proposal = tab.page.getByText("Recorded without call chains.");
    await tab.view(/Flame graph/);
    const asked = async () => (await tab.ask("info")).events.map((event) => event.call_chains);
    assert.deepEqual(await asked(), [true]);
    assert.equal(await proposal.count(), 0);
    await tab.drop(fixture("perf-several"));
    await proposal.waitFor();
    assert.ok((await asked()).includes(false));
  });
});

describe("what changes what one concludes", () => {
  scene("stands above the profile with its share, and goes along in a link with the title", async () => {
    const { page } = tab;
    await tab.drop(fixture("perf-dwarf"));
    await page.locator(".file-name", { hasText: "perf-dwarf" }).waitFor();
    await tab.settled();
    const { warnings, recorder } = await tab.ask("info");
    const { samples } = warnings.find(({ kind }) => kind === "not-unwound");
    const banner = (of) => of.locator(".banner", { hasText: new RegExp(`^\\s*${samples} samples \\([\\d.]+.%\\) have a copy`) });
    await banner(page).waitFor();
    await tab.pictures("banner-not-unwound");

    await page.getByRole("button", { name: "Share", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "Share this profile" });
    const title = dialog.getByRole("textbox", { name: "Title" });
    assert.equal(await title.inputValue(), "perf-dwarf.perf.data");
    await title.fill("crane at noon");
    await dialog.getByRole("radio", { name: /Chat/ }).check();
    await dialog.getByText(/characters of 2,000/).waitFor();
    await tab.settled();
    const link = await dialog.getByRole("textbox", { name: "The link" }).innerText();
    await tab.pictures("share-title");
    await page.keyboard.press("Escape");

    const reader = await Tab.open(`file://${html}#${link.slice(link.indexOf("#") + 1)}`);
    await reader.opened();
    await banner(reader.page).waitFor();
    assert.match(await reader.page.locator(".file-name").innerText(), /^crane at noon/);
    await reader.page.waitForFunction(() => document.title.includes("crane at noon"));
    const read = await reader.ask("info");
    assert.deepEqual([read.title, read.recorder.version], ["crane at noon", recorder.version]);
    await reader.close();
  });

  scene("is said of each of two profiles that are compared, by its side", async () => {
    const { page } = tab;
    await tab.drop(fixture("perf-fp"), fixture("perf-dwarf"));
    await page.getByRole("button", { name: "Open both to compare" }).click();
    await page.getByRole("heading", { name: "Comparing two profiles" }).waitFor();
    const banner = (side) =>
      page.locator(".banner", { hasText: new RegExp(`^\\s*${side}: [\\d,]+ samples \\([\\d.]+.%\\) have a copy`) });
    await banner("After").waitFor();
    await tab.pictures("banner-of-each-side");
    // Swapped they change places, and the banner goes along.
    await page.getByRole("button", { name: /^Swap/ }).click();
    await banner("Before").waitFor();
    assert.equal(await banner("After").count(), 0);
  });
});
