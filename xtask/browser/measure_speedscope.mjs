// Opens a text of `perf script` in speedscope and prints what it took, as measure.mjs does:
//
//   node measure_speedscope.mjs FOLDER TEXT RUNS
//
// FOLDER is its release as npm has it. The clock stops when its bar offers the views, which it does
// when the profile has been read; what it cannot open within the time is a line that says so.
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { launch } from "../../tests/browser/chromium.mjs";
import { framesDuring, hover, longTasks, observe, peakMiB, zoom } from "./watch.mjs";

const [folder, text, runs] = process.argv.slice(2);
const MOVES = 120;
const PATIENCE_MS = 180_000;

for (let run = 0; run < Number(runs); run++) {
  const { browser, page, close } = await launch({ reducedMotion: "no-preference" });
  await page.addInitScript(observe);
  await page.goto(pathToFileURL(resolve(folder, "index.html")).href);
  await page.locator("input[type=file]").first().setInputFiles(resolve(text));
  try {
    const outcome = await page.waitForFunction(
      () =>
        /Left Heavy/.test(document.body.innerText)
          ? "opened"
          : /went wrong|Unrecognized/.test(document.body.innerText) && "failed",
      undefined,
      { timeout: PATIENCE_MS, polling: 20 },
    );
    if ((await outcome.jsonValue()) === "failed") throw new Error("it says that it could not read the file");
    const loadMs = await page.evaluate(() => performance.now() - window.measured.chosen);
    const loading = await longTasks(page);
    const box = { x: 0, y: 60, width: 1440, height: 700 };
    const hovering = await framesDuring(page, () => hover(page, box, MOVES));
    const zooming = await framesDuring(page, () => zoom(page, box, MOVES / 2));
    const using = await longTasks(page);
    console.log(
      JSON.stringify({
        loadMs: Math.round(loadMs),
        loadFreezeMs: loading.longest,
        hoverFrameMs: hovering.p95,
        zoomFrameMs: zooming.p95,
        useFreezeMs: using.longest,
        tabPeakMiB: await peakMiB(browser),
      }),
    );
  } catch (error) {
    console.log(JSON.stringify({ failed: String(error).split("\n")[0] }));
  }
  await close();
}
