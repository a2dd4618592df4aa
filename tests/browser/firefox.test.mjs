// The page in Firefox: links short and long, a saved page, a recording that is dropped, and `perftab view` open there, with
// every sample, a flame graph and no error. What else the page promises is tested in Chromium.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import { writeCrowd } from "./crowd.mjs";
import { command, launch } from "./firefox.mjs";
import { pictureOf } from "./pictures.mjs";
import { binary, html, Parts, run } from "./recording.mjs";
import { afterScenes, lazily, scene } from "./scene.mjs";

const parts = new Parts();
/** Firefox takes seconds to start, so one does for all scenes. */
const browser = lazily(() => launch());
const crowd = lazily(() => writeCrowd(parts, 4096));
const page = pathToFileURL(html).href;

afterScenes(async () => {
  if (browser.isMade()) await (await browser()).close();
  await parts.end();
});

/** `body` opens something in Firefox and answers how many samples that has. */
function opens(what, body) {
  const name = `firefox opens ${what}`;
  scene(
    name,
    async (t) => {
      if (command === undefined) {
        console.log(`SKIPPED: ${name}: firefox is not installed`);
        return t.skip();
      }
      const firefox = await browser();
      // Another address of the same page would be no other page.
      await firefox.goto("about:blank");
      const samples = (await body(firefox)).toLocaleString("en");
      await firefox.evaluate(drawn).catch((error) => explained(firefox, name, error));
      const shown = await firefox.evaluate(() => document.querySelector(".context-bar").textContent);
      assert.match(shown.replaceAll(/\s/g, " "), new RegExp(`Showing ${samples} of ${samples} samples?, 100\\.0 %`));
      if (process.env.PERFTAB_PICTURES !== undefined) await firefox.screenshot(pictureOf(name.replaceAll(/\W+/g, "-")));
      assert.deepEqual(firefox.errors, []);
    },
    { tier: "all" },
  );
}

/** Fails by `error`, with what the page says instead of what was awaited, and a picture of it. */
async function explained(firefox, name, error) {
  await firefox.screenshot(pictureOf(`failed-${name.replaceAll(/\W+/g, "-")}`));
  const said = await firefox.evaluate(() => document.body.innerText);
  throw new Error(`${error.message}; the page says: ${said}\n${firefox.errors.join("\n")}`);
}

/** Runs in the page: waits until it takes files. Its code is unpacked after it has loaded. */
function isOpenScreen() {
  return new Promise((resolve) => {
    const look = () => document.querySelector("#app h1") !== null && resolve(null);
    new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
    look();
  });
}

/** Runs in the page: waits until a flame graph has been painted. */
function drawn() {
  return new Promise((resolve) => {
    const look = (entries) => entries.getEntriesByName("perftab:flame-graph").length > 0 && resolve(null);
    new PerformanceObserver(look).observe({ type: "mark", buffered: true });
  });
}

/** Runs in the page: drops what is chosen in an input, which is Firefox's only way to a file. */
function dropChosen() {
  const dataTransfer = new DataTransfer();
  for (const file of document.querySelector("#chosen").files) dataTransfer.items.add(file);
  for (const type of ["dragenter", "dragover", "drop"]) {
    const event = new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true });
    document.body.dispatchEvent(event);
    if (!event.defaultPrevented) throw new Error(`the page leaves ${type} to the browser`);
  }
}

for (const [characters, least] of [
  [2_000, 1_500],
  [150_000, 120_000],
]) {
  opens(`a link of ${characters.toLocaleString("en")} characters`, async (firefox) => {
    const { recording, library, samples } = crowd();
    const link = run(binary, ["share", "--no-local", "--image", library, "--budget", String(characters), recording], {
      stdio: ["ignore", "pipe", "ignore"],
    }).trim();
    assert.ok(link.length > least && link.length <= characters, `${link.length} characters`);
    await firefox.goto(page + link.slice(link.indexOf("#")));
    return samples;
  });
}

opens("a saved page", async (firefox) => {
  const { recording, library, samples } = crowd();
  const saved = parts.path("saved.html");
  parts.perftab("export", "--no-local", "--image", library, "--to", "html", "-o", saved, recording);
  await firefox.goto(pathToFileURL(saved).href);
  return samples;
});

const fixture = fileURLToPath(new URL("../fixtures/perf-fp.perf.data", import.meta.url));
const samplesOfFixture = () => readFileSync(fixture.replace(/data$/, "txt"), "utf8").match(/^sample /gm).length;

opens("a recording that is dropped", async (firefox) => {
  await firefox.goto(page);
  await firefox.evaluate(isOpenScreen);
  await firefox.evaluate(() => {
    document.body.insertAdjacentHTML("beforeend", '<input type="file" id="chosen">');
  });
  await firefox.choose("#chosen", fixture);
  await firefox.evaluate(dropChosen);
  return samplesOfFixture();
});

opens("perftab view", async (firefox) => {
  await firefox.goto(await parts.view(fixture));
  return samplesOfFixture();
});
