// Opens a recording in the page and prints what it took, one JSON line a run:
//
//   node measure.mjs PAGE.html RECORDING RUNS
//
// The clock starts when the file input changes and stops at the page's mark
// "perftab:flame-graph", set when a flame graph has been painted for the first time.
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { launch } from "../../tests/browser/chromium.mjs";
import {
  answersTo,
  framesDuring,
  hover,
  longestSilence,
  longTasks,
  observe,
  observeCalls,
  peakMiB,
  previews,
  wholeGraph,
  zoom,
} from "./watch.mjs";

const [html, recording, runs] = process.argv.slice(2);
const MOVES = 120;

for (let run = 0; run < Number(runs); run++) {
  const { browser, page, errors, close } = await launch({ reducedMotion: "no-preference" });
  await page.addInitScript(observe);
  await page.addInitScript(observeCalls, "silence");
  await page.goto(pathToFileURL(resolve(html)).href);
  const chooser = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: "Choose files" }).click();
  await (await chooser).setFiles(resolve(recording));
  const whole = await page.waitForFunction(wholeGraph, undefined, { timeout: 600_000, polling: 20 });
  const firstMs = (await whole.jsonValue()) - (await page.evaluate(() => window.measured.chosen));
  const loading = await longTasks(page);
  const loadSilenceMs = await longestSilence(page);
  const loadPeakMiB = await peakMiB(browser);
  const box = await page.locator(".flame-sticky").boundingBox();
  const hovering = await framesDuring(page, () => hover(page, box, MOVES));
  const zooming = await framesDuring(page, () => zoom(page, box, MOVES / 2));
  const using = await longTasks(page);
  const answers = await views(page);
  const viewing = await longTasks(page);
  const links = await linksRemade(page);
  console.log(
    JSON.stringify({
      loadMs: Math.round(firstMs),
      loadFreezeMs: loading.longest,
      loadSilenceMs,
      loadPeakMiB,
      hoverFrameMs: hovering.p95,
      zoomFrameMs: zooming.p95,
      useFreezeMs: using.longest,
      ...answers,
      ...links,
      viewFreezeMs: viewing.longest,
      viewSilenceMs: await longestSilence(page),
      tabPeakMiB: await peakMiB(browser),
    }),
  );
  await close();
  if (errors.length > 0) {
    console.error(errors.join("\n"));
    process.exitCode = 1;
  }
}

/** How long the chosen link takes to be there again after a tick in the open dialog has changed; the median of five. */
async function linksRemade(page) {
  const keeps = page.locator(".keeps[aria-busy=false] li").first();
  const links = {};
  for (const [key, name] of [
    ["slackLinkMs", /Slack/],
    ["githubLinkMs", /GitHub/],
  ]) {
    await page.getByRole("radio", { name }).click();
    await keeps.waitFor({ timeout: 300_000 });
    const times = [];
    for (let time = 0; time < 5; time++) {
      times.push(await page.getByRole("checkbox", { name: "Source files and lines" }).evaluate(untilMade));
    }
    links[key] = Math.round(times.sort((a, b) => a - b)[2]);
  }
  return links;
}

/** Runs in the page: changes a tick and waits until the link that was outdated by it is made. */
function untilMade(tick) {
  const keeps = document.querySelector(".keeps");
  return new Promise((done) => {
    const began = performance.now();
    let isOutdated = false;
    new MutationObserver((_, observer) => {
      const isBusy = keeps.getAttribute("aria-busy") === "true";
      if (isOutdated && !isBusy) {
        observer.disconnect();
        done(performance.now() - began);
      }
      isOutdated ||= isBusy;
    }).observe(keeps, { attributes: true });
    tick.click();
  });
}

/**
 * How long the views take to be there, by the keys that the bench knows them by. Buttons are found by selectors: to find
 * them by what they are called goes through all of the page, in tasks that would count as its own.
 */
async function views(page) {
  const click = (selector, text) => () => page.locator(selector, { hasText: text }).first().click();
  const command = (name) => async () => {
    await page.keyboard.press("Control+k");
    await page.keyboard.type(name);
    await page.keyboard.press("Enter");
  };
  const answers = {};
  answers.functionsMs = await answersTo(page, click("[role=tab]", "Functions"));
  answers.sandwichMs = await answersTo(page, click("[role=grid] [role=row]:nth-child(2)", ""));
  answers.treeMs = await answersTo(page, click("[role=tab]", "Call tree"));
  answers.timeOrderMs = await answersTo(page, click("[role=tab]", "Time order"));
  answers.heatMapMs = await answersTo(page, click("[role=tab]", "Heat map"));
  await answersTo(page, click("[role=tab]", "Flame graph"));
  answers.invertedMs = await answersTo(page, click("[role=group] button", /^Inverted$/));
  await answersTo(page, click("[role=group] button", /^Callees$/));
  answers.searchMs = await answersTo(page, async () => {
    await page.keyboard.press("/");
    await page.keyboard.type("alloc");
  });
  await page.locator("[aria-label='Timeline options']").click();
  answers.threadsMs = await answersTo(page, click("[aria-label='Group by'] button", /^Thread$/));
  await page.keyboard.press("Escape");
  const { x, y, width, height } = await page.locator(".timeline-plot").boundingBox();
  const to = (part, steps) => page.mouse.move(x + width * part, y + height / 2, { steps });
  // The first drag finds out where samples lie in the graph; the ranges after it are drawn from that.
  answers.firstRangeMs = await answersTo(page, async () => {
    await to(0.4, 1);
    await page.mouse.down();
    await to(0.7, 20);
    await page.mouse.up();
  });
  await previews(page);
  await answersTo(page, async () => {
    await to(0.2, 1);
    await page.mouse.down();
    await to(0.6, 60);
    await page.mouse.up();
  });
  const drawn = await previews(page);
  Object.assign(answers, { previewMs: drawn.median, longestPreviewMs: drawn.longest });
  answers.compareMs = await answersTo(page, command("Compare the range with the rest"));
  await answersTo(page, click("button", "Stop comparing"));
  answers.shareMs = await answersTo(page, click(".share-button", ""));
  return answers;
}
