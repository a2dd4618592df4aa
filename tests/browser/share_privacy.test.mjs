// What a link tells is what is ticked: the command line reads each link that the dialog made, and has or has not the texts.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { scene } from "./scene.mjs";
import { axe } from "./tab.mjs";
import { PrivateRecording, wholeWord } from "./private_recording.mjs";

const privateRecording = new PrivateRecording();
const { parts, secrets } = privateRecording;

/** The recording with its names, and the dialog on a link that no size limits. */
async function shared(options = {}) {
  const tab = await privateRecording.opened(options);
  await tab.page.getByRole("button", { name: "Share", exact: true }).click();
  const dialog = tab.page.getByRole("dialog", { name: "Share this profile" });
  return { tab, dialog, link: new Link(dialog) };
}

class Link {
  constructor(dialog) {
    this.dialog = dialog;
  }

  /** The link that says what the dialog says now. */
  async text() {
    // What was changed has been drawn by then: the button is disabled until the new link is there.
    await this.dialog.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    await this.dialog.getByRole("button", { name: "Copy link" }).and(this.dialog.locator(":enabled")).waitFor();
    return this.dialog.getByRole("textbox", { name: "The link" }).innerText();
  }

  /** All that the command line reads in it. */
  async read() {
    const text = await this.text();
    return JSON.stringify([parts.json("info", text, "--json", "--no-local"), parts.json("report", text, "--json", "--no-local")]);
  }
}

/** Every text in the list, by way of the keys that scroll it: elements are there for what is in sight only. */
async function listed(tab, dialog) {
  const list = dialog.getByRole("table", { name: /^Text in the/ });
  await list.getByText("Processes and threads").waitFor();
  const texts = new Set();
  await list.focus();
  for (;;) {
    const before = texts.size;
    for (const text of await list.getByRole("cell").allInnerTexts()) texts.add(text);
    const isEnd = await list.evaluate((el) => el.scrollTop + el.clientHeight >= el.scrollHeight - 1);
    if (isEnd && texts.size === before) return texts;
    await tab.page.keyboard.press("PageDown");
    await list.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  }
}

const has = (text, word) => wholeWord(word).test(text);

describe("what a link tells", () => {
  scene("ticks take it out and put it in", async () => {
    const { tab, dialog, link } = await shared();
    const said = await link.read();
    assert.ok(has(said, "rolling_sea") && has(said, "tides"), "names are told unasked");
    for (const secret of Object.values(secrets)) assert.ok(!has(said, secret), secret);
    for (const [tick, secret] of [
      [/^Folders/, secrets.folder],
      [/^Host name/, secrets.host],
      [/^Command line/, secrets.command],
    ]) {
      await dialog.getByRole("checkbox", { name: tick }).check();
      assert.ok(has(await link.read(), secret), `${secret} is there`);
      await dialog.getByRole("checkbox", { name: tick }).uncheck();
      assert.ok(!has(await link.read(), secret), `${secret} is gone again`);
    }
    await dialog.getByRole("checkbox", { name: /^Function names in own code/ }).uncheck();
    const unnamed = await link.read();
    assert.ok(!has(unnamed, "rolling_sea") && has(unnamed, "function-1"), "own code is numbered");
    for (const tick of [/^DSO names/, /^Process and thread/, /^Source files/])
      await dialog.getByRole("checkbox", { name: tick }).uncheck();
    const nameless = await link.read();
    assert.ok(!has(nameless, "tides") && has(nameless, "dso-[0-9]+"), "neither DSO nor process nor source file is told");
    await tab.close();
  });

  scene(
    "patterns rename everywhere, say what they did, and what is wrong with them",
    async () => {
      const { tab, dialog, link } = await shared();
      const pattern = dialog.getByRole("textbox", { name: "Pattern" }).first();
      await pattern.fill("rolling");
      await dialog.getByText(/renamed\. Equal names stay equal\./).waitFor();
      let said = await link.read();
      assert.ok(!said.includes("rolling") && said.includes("hidden_sea"), "it is hidden");
      assert.ok((await listed(tab, dialog)).has("hidden_sea was rolling_sea"), "the list says what it was");
      await dialog.getByRole("textbox", { name: "Shown as" }).first().fill("calm");
      said = await link.read();
      assert.ok(!said.includes("rolling") && said.includes("calm_sea"), "it is called as asked");
      await tab.picture("share-privacy-renamed");

      for (const [wrong, words] of [
        ["x*", /matches the empty text/],
        ["(", /not a regular expression/],
      ]) {
        await pattern.fill(wrong);
        await dialog.getByRole("alert").filter({ hasText: words }).waitFor();
        await dialog.locator("button:disabled", { hasText: "Copy link" }).waitFor();
      }
      await pattern.fill("");
      assert.ok((await link.read()).includes("rolling_sea"), "it is back");
      await tab.close();
    },
    { tier: "all" },
  );

  scene(
    "every text is listed, and found by keys and by those who do not see it",
    async () => {
      const { tab, dialog } = await shared({ initPath: axe });
      const texts = await listed(tab, dialog);
      const { texts: told } = await tab.ask("share", { budget: 4_000, base: await base(dialog), options: {} });
      const all = new Set(told.parts.flatMap((part) => part.texts));
      for (const text of all) assert.ok(texts.has(text), `${text} is listed`);
      const found = await tab.page.evaluate(() => window.axe.run(document.querySelector("dialog[open]")));
      assert.deepEqual(
        found.violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html)]),
        [],
      );
      await tab.picture("share-privacy-list");
      await tab.close();
    },
    { tier: "all" },
  );

  scene(
    "the page tab tells the same way, and a narrow window has it below",
    async () => {
      const { tab, dialog } = await shared();
      await tab.page.setViewportSize({ width: 420, height: 900 });
      await dialog.getByRole("button", { name: "Page", exact: true }).click();
      const ticks = dialog.getByRole("checkbox", { name: /^Folders/ });
      await ticks.scrollIntoViewIfNeeded();
      const { width } = await ticks.locator("xpath=ancestor::aside").boundingBox();
      assert.ok(width <= 420, `${width} px`);
      await dialog.getByText(/A page cannot be taken back/).scrollIntoViewIfNeeded();
      await tab.picture("share-privacy-phone");
      await tab.close();
    },
    { tier: "all" },
  );
});

/** The address that the link names. */
const base = async (dialog) => (await dialog.getByRole("textbox", { name: "The link" }).innerText()).split("#")[0];
