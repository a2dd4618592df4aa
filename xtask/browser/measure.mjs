// Opens a recording in the page and prints what it took, one JSON line a run:
//
//   node measure.mjs PAGE.html RECORDING RUNS
//
// The clock starts when the file input changes and stops at the page's mark
// "perftab:flame-graph", set when a flame graph has been painted for the first time.
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { launch } from "../../tests/browser/chromium.mjs";
import { answersTo, framesDuring, hover, longTasks, observe, observeCalls, peakMiB, zoom } from "./watch.mjs";

const [html, recording, runs] = process.argv.slice(2);
const MOVES = 120;

for (let run = 0; run < Number(runs); run++) {
  const { browser, page, errors, close } = await launch({ reducedMotion: "no-preference" });
  await page.addInitScript(observe);
  await page.addInitScript(observeCalls);
  await page.goto(pathToFileURL(resolve(html)).href);
  const chooser = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: "Choose files" }).click();
  await (await chooser).setFiles(resolve(recording));
  const marked = () => performance.getEntriesByName("perftab:flame-graph").length > 0;
  await page.waitForFunction(marked, undefined, { timeout: 600_000, polling: 20 });
  const firstMs = await page.evaluate(
    () => performance.getEntriesByName("perftab:flame-graph")[0].startTime - window.measured.chosen,
  );
  const loading = await longTasks(page);
  const box = await page.locator(".flame-sticky").boundingBox();
  const hovering = await framesDuring(page, () => hover(page, box, MOVES));
  const zooming = await framesDuring(page, () => zoom(page, box, MOVES / 2));
  const using = await longTasks(page);
  const answers = await views(page);
  const viewing = await longTasks(page);
  console.log(JSON.stringify({
    loadMs: Math.round(firstMs),
    loadFreezeMs: loading.longest,
    hoverFrameMs: hovering.p95,
    zoomFrameMs: zooming.p95,
    useFreezeMs: using.longest,
    ...answers,
    viewFreezeMs: viewing.longest,
    tabPeakMiB: await peakMiB(browser),
  }));
  await close();
  if (errors.length > 0) {
    console.error(errors.join("\n"));
    process.exitCode = 1;
  }
}

/** How long the views take to be there, by the keys that the bench knows them by. */
async function views(page) {
  const click = (role, name) => () => page.getByRole(role, { name }).first().click();
  const answers = {};
  answers.functionsMs = await answersTo(page, click("tab", "Functions"));
  answers.sandwichMs = await answersTo(page, () => page.getByRole("grid").getByRole("row").nth(1).click());
  answers.treeMs = await answersTo(page, click("tab", "Call tree"));
  answers.timeOrderMs = await answersTo(page, click("tab", "Time order"));
  await answersTo(page, click("tab", "Flame graph"));
  answers.invertedMs = await answersTo(page, click("button", "Inverted"));
  await answersTo(page, click("button", "Callees"));
  answers.searchMs = await answersTo(page, async () => {
    await page.keyboard.press("/");
    await page.keyboard.type("alloc");
  });
  const { x, y, width, height } = await page.locator(".timeline-plot").boundingBox();
  const to = (part, steps) => page.mouse.move(x + width * part, y + height / 2, { steps });
  answers.rangeMs = await answersTo(page, async () => {
    await to(0.4, 1);
    await page.mouse.down();
    await to(0.7, 20);
    await page.mouse.up();
  });
  answers.compareMs = await answersTo(page, async () => {
    await page.keyboard.press("Control+k");
    await page.keyboard.type("Compare the range with the rest");
    await page.keyboard.press("Enter");
  });
  return answers;
}
