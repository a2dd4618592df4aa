// The page in Firefox: it opens from disk, reads a recording, and paints its flame graph. What the page promises beyond that
// is tested in Chromium.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import { command, launch } from "./firefox.mjs";
import { pictureOf } from "./pictures.mjs";
import { html } from "./recording.mjs";
import { scene } from "./scene.mjs";

const recording = fileURLToPath(new URL("../fixtures/perf-fp.perf.data", import.meta.url));

scene("firefox opens a recording from a page on disk and paints its flame graph", async (t) => {
  if (command === undefined) {
    console.log("SKIPPED: firefox opens a recording from a page on disk: firefox is not installed");
    return t.skip();
  }
  const wanted = readFileSync(recording.replace(/data$/, "txt"), "utf8").match(/^sample /gm).length;
  const firefox = await launch();
  try {
    await firefox.goto(pathToFileURL(html).href);
    // The picker is the desktop's. In its place the input, which is in no document, is put into this one.
    await firefox.evaluate(() => {
      window.HTMLInputElement.prototype.click = function () {
        this.hidden = true;
        document.body.append(this);
      };
    });
    await firefox.click(".drop-box button");
    await firefox.choose("input[type=file]", recording);
    await firefox.evaluate(
      () =>
        new Promise((resolve) => {
          const painted = (entries) => entries.getEntriesByName("perftab:flame-graph").length > 0 && resolve(null);
          new PerformanceObserver(painted).observe({ type: "mark", buffered: true });
        }),
    );
    const samples = await firefox.evaluate(() => document.querySelector(".fact-samples").textContent);
    assert.equal(samples, `${wanted} samples`);
    if (process.env.PERFTAB_PICTURES !== undefined) await firefox.screenshot(pictureOf("firefox"));
    assert.deepEqual(firefox.errors, []);
  } finally {
    await firefox.close();
  }
});
