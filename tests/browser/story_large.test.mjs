// A recording of the whole system at a high rate, tens of megabytes: the tab stays responsive while it opens, and a link
// that cannot hold all of it says what it holds.
import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { after, before, describe } from "node:test";
import { Parts } from "./recording.mjs";
import { QUERY, Tab, longestTask, scene } from "./tab.mjs";

const parts = new Parts();
let recording;
let host;

before(async () => {
  const tides = parts.compile(["tides"]);
  // The same work twice at once keeps two processors busy for as long as is recorded.
  const work = `timeout 7 ${tides} 1000000 & timeout 7 ${tides} 1000000; wait`;
  recording = parts.record("large.perf.data", ["-a", "-F", "20000"], ["sh", "-c", work]);
  host = await parts.host();
});

after(() => parts.end());

/** Runs in the page before its own script: remembers what kept the main thread busy, and when a file came in. */
function watch() {
  const seen = { chosen: 0, tasks: [] };
  window.perftabSeen = seen;
  addEventListener("change", () => (seen.chosen ||= performance.now()), { capture: true });
  new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries()) seen.tasks.push({ startTime, duration });
  }).observe({ type: "longtask", buffered: true });
}

/** Runs in the page: presses Cancel in the status bar as soon as it is there, which may not be for long. */
function cancelAtOnce() {
  return new Promise((resolve) => {
    const observer = new MutationObserver(() => {
      const buttons = [...document.querySelectorAll(".status-work button")];
      const cancel = buttons.find(({ textContent }) => textContent === "Cancel");
      if (cancel !== undefined) {
        observer.disconnect();
        cancel.click();
        resolve();
      }
    });
    observer.observe(document.body, { childList: true, subtree: true });
  });
}

describe("9 a large recording", () => {
  scene("9a no task of the main thread is over 50 ms while it opens", async (t) => {
    const megabytes = statSync(recording).size / 1e6;
    assert.ok(megabytes > 20, `${megabytes} MB are not large`);
    const tab = await Tab.open(host, { spy: false, init: watch });
    const { browser } = tab.browser;
    await browser.startTracing(tab.page, { categories: ["toplevel"] });
    await tab.pick(() => tab.page.getByRole("button", { name: /Choose files/ }).click(), recording);
    await tab.opened();
    const longest = longestTask(await browser.stopTracing());
    const { chosen, painted, tasks } = await tab.page.evaluate(() => ({
      ...window.perftabSeen,
      painted: performance.getEntriesByName("perftab:flame-graph")[0].startTime,
    }));
    await tab.picture("9-large");
    await tab.close();
    const byTheClock = Math.max(0, ...tasks.filter(({ startTime }) => startTime >= chosen).map(({ duration }) => duration));
    t.diagnostic(`${megabytes.toFixed(1)} MB: first flame graph after ${Math.round(painted - chosen)} ms; longest task ` +
      `${longest.toFixed(1)} ms of processor time, ${byTheClock > 0 ? `${byTheClock} ms` : "under 50 ms"} by the clock`);
    // By processor time, since other processes lengthen tasks by the clock, and a test machine runs many.
    assert.ok(longest < 50, `a task of ${longest} ms`);
  });

  scene("a17 9b a link too short for all of it keeps the totals and says what it folds", async (t) => {
    const tab = await Tab.open(host);
    await tab.drop(recording);
    await tab.opened();
    await tab.page.getByRole("button", { name: "Share" }).click();
    const dialog = tab.page.getByRole("dialog", { name: "Share this profile" });
    await dialog.getByRole("radio", { name: /Chat/ }).check();
    await dialog.locator(".keeps").getByText(/folded into callers/).waitFor();
    await dialog.getByRole("button", { name: "Copy link" }).click();
    await dialog.getByRole("button", { name: "Copied" }).waitFor();
    await tab.pictures("9-share-folded");
    const link = await tab.page.evaluate(() => navigator.clipboard.readText());
    assert.ok(link.length <= 2_000, `${link.length} characters`);
    const short = await Tab.open(host + link.slice(link.indexOf("#")), { offline: true });
    await short.opened();
    const totals = async (of) => {
      const graph = await of.ask("flameGraph", { query: QUERY, window: { root: 0, widthPx: 1000, minPx: 0.5, search: "" } });
      const { events } = await of.ask("info");
      const { frames, named, samples, named_leaves } = await of.ask("coverage");
      const coverage = { frames, named, samples, named_leaves };
      return { coverage, all: graph.allTotal, samples: graph.rootSamples, events: events.map(({ name, weight, samples }) => [name, weight, samples]) };
    };
    assert.deepEqual(await totals(short), await totals(tab));
    const facts = await short.page.locator(".coverage-meter .kept").innerText();
    assert.match(facts, /keeps [\d.]+\s%, every call of [\d.]+\s% and more/);
    t.diagnostic(`${link.length} characters: ${/keeps.*/.exec(facts.replaceAll("\n", " "))[0]}`);
    await short.pictures("9-from-folded-link");
    await short.close();
    await tab.close();
  });

  scene("9c cancelling leaves what was open, also in the worker", async () => {
    const tab = await Tab.open(host);
    const small = parts.record("small.perf.data", ["-F", "499"], [parts.compile(["small"]), "5"]);
    await tab.drop(small);
    await tab.opened();
    const before = await tab.functions();
    const cancelled = tab.page.evaluate(cancelAtOnce);
    await tab.drop(recording);
    await cancelled;
    await tab.page.locator(".status-work").waitFor({ state: "detached" });
    assert.equal(await tab.page.locator(".file-name").innerText(), "small.perf.data");
    assert.deepEqual(await tab.functions(), before);
    await tab.close();
  });
});
