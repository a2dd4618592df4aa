// What leaves the page: a link holds what was ticked and nothing else, and the page itself works from a disk.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { describe } from "node:test";
import { pathToFileURL } from "node:url";
import { html } from "./recording.mjs";
import { scene } from "./scene.mjs";
import { Tab } from "./tab.mjs";
import { PrivateRecording, wholeWord } from "./private_recording.mjs";

const privateRecording = new PrivateRecording();
const { parts, secrets } = privateRecording;

/** The views that there are tabs for, by name. */
const views = (page) => page.locator(".view-tabs [role=tab]").evaluateAll((tabs) => tabs.map((tab) => tab.id));

describe("a link", () => {
  scene("a17 holds no folder, host or command line unless they were ticked", async () => {
    const tab = await privateRecording.opened();
    for (const ticked of [false, true]) {
      const { payload } = await tab.ask("share", {
        budget: 65_536,
        base: "",
        options: {
          privacy: Object.fromEntries(["folders", "commandLine", "host"].map((part) => [part, ticked ? "included" : "left-out"])),
        },
      });
      const fresh = await Tab.open(`${privateRecording.host}#${payload}`, { offline: true });
      await fresh.opened();
      const info = await fresh.ask("info");
      const texts = JSON.stringify([
        info,
        await fresh.functions(),
        [...(await fresh.said())],
        await fresh.everythingInAllViews(),
      ]);
      assert.ok(texts.includes("rolling_sea"), "the names came along");
      for (const secret of Object.values(secrets)) {
        const found = wholeWord(secret).exec(texts);
        const isThere = secret === secrets.command ? info.host.cmdline.includes(secret) : found !== null;
        assert.equal(isThere, ticked, `${secret} is ${ticked ? "absent" : "there"}: ${found}`);
      }
      await fresh.close();
    }
    await tab.close();
  });

  scene("a17 leaves folders and host out until they are ticked, and says what can be read in it", async () => {
    const tab = await privateRecording.opened();
    await tab.page.getByRole("button", { name: "Share", exact: true }).click();
    const dialog = tab.page.getByRole("dialog", { name: "Share this profile" });
    for (const what of [/^Folders/, /^Host name/])
      assert.ok(!(await dialog.getByRole("checkbox", { name: what }).isChecked()), String(what));
    await dialog.getByText(/A link cannot be taken back/).waitFor();
    await tab.pictures("a17-unticked");
    await tab.close();
  });

  scene("a30 names the page that its readers use, which is asked beside it and remembered; until then it says so", async () => {
    const tab = await privateRecording.opened();
    const { page } = tab;
    const dialog = page.getByRole("dialog", { name: "Share this profile" });
    const open = () => page.getByRole("button", { name: "Share", exact: true }).click();
    const link = dialog.getByRole("textbox", { name: "The link" });
    await open();
    await dialog.getByText("This link names no page yet. Paste it into any perftab page to open it").waitFor();
    await link.filter({ hasText: /^https:\/\/perftab\.invalid\/#p1\./ }).waitFor();
    await tab.pictures("a30-no-page");
    const field = dialog.getByRole("textbox", { name: "Page of your readers" });
    await field.fill("https://perf.example/tab/");
    await field.press("Tab");
    await link.filter({ hasText: /^https:\/\/perf\.example\/tab\/#p1\./ }).waitFor();
    await dialog.getByText("This link names no page yet").waitFor({ state: "detached" });
    await tab.pictures("a30-page");
    // A title stands in the tab of whoever opens it, in any page.
    await dialog.getByRole("textbox", { name: "Title" }).fill("Before the fix");
    await page.waitForFunction(() => document.querySelector(".share-actions .primary:enabled") !== null);
    await tab.settled();
    const text = await tab.copied(() => dialog.getByRole("button", { name: "Copy link" }).click());
    const reader = await Tab.open(privateRecording.host + text.slice(text.indexOf("#")));
    await reader.opened();
    assert.equal(await reader.page.title(), "Before the fix · perftab");
    await reader.close();
    await page.keyboard.press("Escape");
    await page.reload();
    await tab.drop(privateRecording.recording);
    await tab.opened();
    await open();
    await link.filter({ hasText: /^https:\/\/perf\.example\/tab\/#p1\./ }).waitFor();
    await tab.close();
  });

  scene("says what it holds while filters act", async () => {
    const tab = await Tab.open(`${privateRecording.host}#s2&range=0.1-500&step=collapse-recursion`);
    await tab.drop(privateRecording.recording);
    await tab.opened();
    await tab.settled();
    const { page } = tab;
    const [, left, all] = /Showing ([\d,]+) of ([\d,]+) samples/.exec(await page.locator(".showing").innerText());
    assert.notEqual(left, all);
    await page.getByRole("button", { name: "Share", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "Share this profile" });
    const whole = "Contains the whole profile. Your 2 filters are included; readers can remove them.";
    await dialog.getByText(whole).waitFor();
    await dialog.getByRole("button", { name: "Page", exact: true }).click();
    await dialog.getByText(whole).waitFor();
    await dialog.getByRole("button", { name: "Export", exact: true }).click();
    await dialog.getByText(`Contains only what is left after 2 filters: ${left} of ${all} samples.`).waitFor();
    await tab.picture("share-holds");
    await tab.close();
  });
});

describe("what was shared, as a file", () => {
  scene("a link in a message and a saved page open when they are dropped", async () => {
    const message = parts.path("message.txt");
    const { link } = parts.json("share", privateRecording.recording, "--json", "--budget", "slack");
    writeFileSync(message, `It is slow here:\n\n> <${link}>.\n`);
    const saved = parts.path("saved.html");
    parts.perftab("export", privateRecording.recording, "--to", "html", "-o", saved);
    const { samples } = parts.json("report", privateRecording.recording, "--json");
    for (const [file, tag] of [
      [message, "Link"],
      [saved, "Page"],
    ]) {
      const tab = await Tab.open(privateRecording.host);
      await tab.drop(file);
      await tab.opened();
      await tab.page.locator(".top-bar").getByText(tag, { exact: true }).waitFor();
      assert.equal((await tab.ask("info")).events[0].samples, samples, tag);
      await tab.close();
    }
  });
});

describe("the page from a disk", () => {
  scene("a18 opens without network, names what is dropped, and has the views of a hosted one", async () => {
    const hosted = await Tab.open(privateRecording.host);
    await hosted.drop(privateRecording.recording, privateRecording.program);
    await hosted.status("tides", "matched");
    const tab = await Tab.open(pathToFileURL(html).href, { offline: true });
    await tab.drop(privateRecording.recording, privateRecording.program);
    await tab.status("tides", "matched");
    await tab.settled();
    assert.deepEqual(await tab.functions(), await hosted.functions());
    assert.deepEqual(await views(tab.page), await views(hosted.page));
    for (const id of await views(tab.page)) {
      await tab.page.locator(`#${id}`).click();
      await tab.settled();
    }
    await tab.page.keyboard.press("Escape");
    assert.deepEqual(tab.refused, []);
    await tab.pictures("a18-from-disk");
    await tab.close();
    await hosted.close();
  });
});
