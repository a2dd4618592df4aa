// Opens a recording in the page and prints what it took, one JSON line a run:
//
//   node measure.mjs PAGE.html RECORDING RUNS
//   {"firstFlameGraphMs":…, "longestTaskMs":…, "longTasks":…, "tabPeakMiB":…}
//
// The clock starts when the file input changes and stops at the page's mark
// "perftab:flame-graph", set when a flame graph has been painted. Long tasks are those of the main
// thread (over 50 ms). Memory is the peak resident set of the tab's process, worker included.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { launch } from "../../tests/browser/chromium.mjs";

const [html, recording, runs] = process.argv.slice(2);

// Runs in the page before its own script.
function observe() {
  const seen = { chosen: Infinity, longest: 0, count: 0 };
  window.perftabMeasured = seen;
  // The page's file input is in no document, so its events are met where it is clicked.
  const { click } = HTMLInputElement.prototype;
  HTMLInputElement.prototype.click = function () {
    this.addEventListener("change", () => (seen.chosen = performance.now()), { capture: true });
    click.call(this);
  };
  new PerformanceObserver((list) => {
    for (const task of list.getEntries()) {
      if (task.startTime < seen.chosen) continue; // starting the page
      seen.count += 1;
      seen.longest = Math.max(seen.longest, task.duration);
    }
  }).observe({ type: "longtask", buffered: true });
}

async function peakMiB(browser) {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  const peaks = processInfo
    .filter((process) => process.type === "renderer")
    .map((process) => {
      const status = readFileSync(`/proc/${process.id}/status`, "utf8");
      return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1024;
    });
  return Math.max(...peaks);
}

for (let run = 0; run < Number(runs); run++) {
  const { browser, page, errors, close } = await launch();
  await page.addInitScript(observe);
  await page.goto(pathToFileURL(resolve(html)).href);
  const chooser = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: "Choose files" }).click();
  await (await chooser).setFiles(resolve(recording));
  const marked = () => performance.getEntriesByName("perftab:flame-graph").length > 0;
  await page.waitForFunction(marked, undefined, { timeout: 600_000, polling: 20 });
  const seen = await page.evaluate(() => ({
    ...window.perftabMeasured,
    painted: performance.getEntriesByName("perftab:flame-graph")[0].startTime,
  }));
  console.log(JSON.stringify({
    firstFlameGraphMs: Math.round(seen.painted - seen.chosen),
    longestTaskMs: Math.round(seen.longest),
    longTasks: seen.count,
    tabPeakMiB: Math.round(await peakMiB(browser)),
  }));
  await close();
  if (errors.length > 0) {
    console.error(errors.join("\n"));
    process.exitCode = 1;
  }
}
