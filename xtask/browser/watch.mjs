// What every measurement of a viewer in Chromium watches, whoever's viewer it is: when a file was
// chosen, long tasks of the main thread, frames while something is done, memory of the tab.
import { readFileSync } from "node:fs";

/**
 * Runs in the page before its own script: `page.addInitScript(observe)`. Tasks count from when a file is chosen; with "served"
 * from the first one on, as a page that opens something by itself has no other beginning.
 */
export function observe(what) {
  const seen = { chosen: what === "served" ? 0 : Infinity, longest: 0, count: 0, frames: [] };
  window.measured = seen;
  // A file input may be in no document, so its events are met where it is clicked.
  const { click } = HTMLInputElement.prototype;
  HTMLInputElement.prototype.click = function () {
    this.addEventListener("change", () => (seen.chosen = performance.now()), { capture: true });
    click.call(this);
  };
  addEventListener("change", () => (seen.chosen = Math.min(seen.chosen, performance.now())), { capture: true });
  new PerformanceObserver((list) => {
    for (const task of list.getEntries()) {
      if (task.startTime < seen.chosen) continue; // starting the page
      seen.count += 1;
      seen.longest = Math.max(seen.longest, task.duration);
    }
  }).observe({ type: "longtask", buffered: true });
}

/** Runs in the page: when the first flame graph of the whole recording was painted. Of what is read so far there are some before. */
export function wholeGraph() {
  const graphs = performance.getEntriesByName("perftab:flame-graph");
  return graphs.find(({ startTime }) => startTime > window.measuredCalls.opened)?.startTime;
}

/**
 * Runs in the page before its own script, too: counts what its workers are asked and have not answered. With "silence" it
 * asks each every few milliseconds for something that it can say at once: while it says nothing, it hears no Cancel either.
 * On two cores that takes a tenth of the page's time, so whoever measures that leaves it out.
 */
export function observeCalls(what) {
  const calls = { open: new Map(), asked: 0, byMethod: {}, answered: 0, opened: Infinity, silence: 0, previews: [] };
  window.measuredCalls = calls;
  const OF_OURS = 2e9; // Far from the numbers that the page gives its own questions.
  const ask = (worker, post) => {
    let id = OF_OURS;
    let since = null;
    const note = () => (calls.silence = Math.max(calls.silence, performance.now() - since));
    worker.addEventListener("message", ({ data }) => {
      if (data.id === id && since !== null) {
        note();
        since = null;
      }
    });
    setInterval(() => {
      if (since !== null) return note();
      id += 1;
      since = performance.now();
      post({ type: "call", id, method: "memory", args: {}, generation: 0 });
    }, 5);
  };
  window.Worker = class extends window.Worker {
    constructor(...args) {
      super(...args);
      if (what === "silence") ask(this, (message) => super.postMessage(message));
      this.addEventListener("message", ({ data }) => {
        const call = "progress" in data ? undefined : calls.open.get(data.id);
        if (call === undefined) return;
        calls.open.delete(data.id);
        calls.answered = performance.now();
        if (call.method === "open" || call.method === "openUrl") calls.opened = calls.answered;
        if (call.method === "rangePreview") calls.previews.push(calls.answered - call.asked);
      });
    }
    postMessage(message, ...rest) {
      if (message.type === "call") {
        calls.asked += 1;
        calls.byMethod[message.method] = (calls.byMethod[message.method] ?? 0) + 1;
        calls.open.set(message.id, { method: message.method, asked: performance.now() });
      } else if (message.type === "cancel") {
        calls.open.delete(message.id);
      }
      super.postMessage(message, ...rest);
    }
  };
}

/** Does something and gives the time until the last answer to what it made the page ask. */
export async function answersTo(page, act) {
  const [begun, before] = await page.evaluate(() => [performance.now(), window.measuredCalls.asked]);
  await act();
  // One answer may lead to the next question: a moment without either ends it.
  await page.waitForFunction(
    (before) => {
      const { open, asked, answered } = window.measuredCalls;
      return asked > before && open.size === 0 && performance.now() - answered > 500;
    },
    before,
    { timeout: 300_000, polling: 50 },
  );
  return page.evaluate((begun) => Math.round(window.measuredCalls.answered - begun), begun);
}

/** The longest time since the last call in which a worker did not answer. */
export async function longestSilence(page) {
  return page.evaluate(() => {
    const { silence } = window.measuredCalls;
    window.measuredCalls.silence = 0;
    return Math.round(silence);
  });
}

/** How long graphs of a range that is being dragged took since the last call, from the question to the answer: median and longest. */
export async function previews(page) {
  return page.evaluate(() => {
    const sorted = window.measuredCalls.previews.splice(0).sort((a, b) => a - b);
    return { median: Math.round(sorted[sorted.length >> 1] ?? NaN), longest: Math.round(sorted.at(-1) ?? NaN) };
  });
}

/** Long tasks since the last call: how many over 50 ms, and the longest. */
export async function longTasks(page) {
  return page.evaluate(() => {
    const { longest, count } = window.measured;
    Object.assign(window.measured, { longest: 0, count: 0 });
    return { longest: Math.round(longest), count };
  });
}

/** Does something and gives the time between frames meanwhile: the 95th percentile and the longest. */
export async function framesDuring(page, act) {
  await page.evaluate(() => {
    const { frames } = window.measured;
    frames.length = 0;
    window.measured.watching = true;
    let before = null;
    const next = (now) => {
      if (before !== null) frames.push(now - before);
      before = now;
      if (window.measured.watching) requestAnimationFrame(next);
    };
    requestAnimationFrame(next);
  });
  await act();
  return page.evaluate(() => {
    window.measured.watching = false;
    const sorted = window.measured.frames.slice().sort((a, b) => a - b);
    const round = (ms) => Math.round(ms * 10) / 10;
    return { p95: round(sorted[Math.floor(sorted.length * 0.95)] ?? 0), longest: round(sorted.at(-1) ?? 0) };
  });
}

/** Moves the pointer over a box in a zigzag, `moves` times. */
export async function hover(page, box, moves) {
  for (let i = 0; i < moves; i++) {
    const across = (i * 37) % 100;
    await page.mouse.move(box.x + (box.width * across) / 100, box.y + (box.height * ((i * 13) % 90)) / 100 + 4);
  }
}

/** Zooms in and out about the middle of a box with Ctrl and the wheel. */
export async function zoom(page, box, turns) {
  await page.mouse.move(box.x + box.width * 0.4, box.y + Math.min(box.height / 2, 120));
  await page.keyboard.down("Control");
  for (let i = 0; i < turns; i++) {
    await page.mouse.wheel(0, i < turns / 2 ? -60 : 60);
  }
  await page.keyboard.up("Control");
}

/** The peak resident set of the tab's process, workers included. */
export async function peakMiB(browser) {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  const peaks = processInfo
    .filter((process) => process.type === "renderer")
    .map((process) => {
      const status = readFileSync(`/proc/${process.id}/status`, "utf8");
      return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1024;
    });
  return Math.round(Math.max(...peaks));
}
