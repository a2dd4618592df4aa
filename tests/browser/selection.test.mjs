// What the panel says of a selection: where it lies, on which threads it ran, and when. The program prints when each of its
// functions ran, perf says on which threads, binutils what lies at an address.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe } from "node:test";
import { Parts, functionAt, run } from "./recording.mjs";
import { afterScenes, beforeScenes, scene } from "./scene.mjs";
import { QUERY, Tab, axe } from "./tab.mjs";

/** Milliseconds of the phases: work, sleep, work of two threads, work of a child. */
const LENGTHS = [300, 200, 300, 300];

const parts = new Parts();
let program;
let recording;
let host;
/** The process of each thread, by the thread's name. */
let pids;
/** When a function of the program ran, in the same nanoseconds. */
let phases;
/** When the last sample of the thread `lookout` was taken: on a busy machine it ends long after its work did. */
let lastOfLookout;

beforeScenes(async () => {
  program = parts.compilePhases();
  const said = parts.path("phases.txt");
  recording = parts.record("phases.perf.data", ["-F", "1999"], ["sh", "-c", `${program} ${LENGTHS.join(" ")} > ${said}`]);
  const lines = run("perf", ["script", "--ns", "-i", recording, "-F", "comm,pid,time"]);
  const samples = [...lines.matchAll(/^\s*(\S+)\s+(\d+)\s+(\d+)\.(\d{9}):\s*$/gm)].map(([, comm, pid, s, ns]) => ({
    comm,
    pid,
    time: BigInt(s) * 1_000_000_000n + BigInt(ns),
  }));
  const first = samples.reduce((least, { time }) => (time < least ? time : least), samples[0].time);
  const ofLookout = samples.filter(({ comm }) => comm === "lookout").map(({ time }) => Number(time - first));
  lastOfLookout = Math.max(...ofLookout);
  pids = Object.fromEntries(samples.map(({ comm, pid }) => [comm, pid]));
  phases = Object.fromEntries(
    readFileSync(said, "utf8")
      .trim()
      .split("\n")
      .map((line) => {
        const [name, began, ended] = line.split(" ");
        return [name, { start: Number(BigInt(began) - first), end: Number(BigInt(ended) - first) }];
      }),
  );
  host = await parts.host();
});

afterScenes(() => parts.end());

async function opened(options = {}, fragment = "") {
  const tab = await Tab.open(host + fragment, options);
  await tab.drop(recording);
  await tab.opened();
  await named(tab);
  return tab;
}

async function named(tab) {
  await tab.drop(program);
  await tab.page.locator(".toast", { hasText: "Used 1 of 1 file" }).waitFor();
  await tab.settled();
}

/** Runs in the page before its own script: while `perftabHeld` is a list, the page's questions for graphs wait in it. */
function holdGraphs() {
  window.Worker = class extends window.Worker {
    postMessage(message, ...rest) {
      const isPages = message.id < 1e9; // The test's own questions have higher numbers.
      if (window.perftabHeld && isPages && message.method === "flameGraph")
        window.perftabHeld.push(() => super.postMessage(message, ...rest));
      else super.postMessage(message, ...rest);
    }
  };
}

/** Runs in the page before its own script: notes what the page asks its worker, and what it takes back. */
function noteQuestions() {
  window.perftabAsked = [];
  window.perftabCancelled = [];
  window.Worker = class extends window.Worker {
    postMessage(message, ...rest) {
      // The test's own questions have higher numbers.
      if (message.type === "call" && message.id < 1e9) window.perftabAsked.push(message.method);
      if (message.type === "cancel") window.perftabCancelled.push(message.id);
      const isHeld = window.perftabHeld && message.method === "flameGraph";
      if (isHeld) window.perftabHeld.push(message.id);
      else super.postMessage(message, ...rest);
    }
  };
}

const fact = (panel, name) => panel.locator(`dt:text-is("${name}") + dd`);

/** When the bars stand, as parts of the whole width. */
async function bars(panel) {
  await panel.locator(".when path").waitFor();
  return panel.locator(".when").evaluate((when) => {
    const bins = when.viewBox.baseVal.width;
    return [
      ...when
        .querySelector("path")
        .getAttribute("d")
        .matchAll(/M(\d+) /g),
    ].map(([, bin]) => [bin / bins, (Number(bin) + 1) / bins]);
  });
}

describe("selection", () => {
  scene("a click on a call asks the worker once", async () => {
    const tab = await opened({ init: noteQuestions });
    const { page } = tab;
    const graph = await page.locator(".flame-sticky").boundingBox();
    const there = [graph.x + 40, graph.y + 18 * 2.5];
    // The card of what the pointer is over is another question.
    await page.mouse.move(...there);
    await page.locator(".card-base").waitFor();
    await tab.settled();
    await page.evaluate(() => window.perftabAsked.splice(0));
    await page.mouse.down();
    await page.mouse.up();
    await page.locator('[role=treeitem][aria-selected="true"]').waitFor();
    await tab.settled();
    assert.deepEqual(await page.evaluate(() => window.perftabAsked), ["callNode"]);
    await tab.close();
  });

  scene("a graph that nobody waits for any more is not made", async () => {
    const tab = await opened({ init: noteQuestions });
    const { page } = tab;
    // The worker gets no question for a graph, as if the one before were still being answered.
    await page.evaluate(() => {
      window.perftabHeld = [];
    });
    await page.keyboard.press("i");
    await page.waitForFunction(() => window.perftabHeld.length > 0);
    await page.evaluate(() => {
      window.perftabLate = window.perftabHeld;
      window.perftabHeld = null;
    });
    await page.keyboard.press("3");
    await page.locator(".functions .row:not(.loading)").first().waitFor();
    await page.waitForFunction(() => window.perftabLate.every((id) => window.perftabCancelled.includes(id)));
    await page.keyboard.press("2");
    await page.locator(".flame-sticky").waitFor();
    await tab.settled();
    await tab.close();
  });

  scene("a call says on which thread it ran and when, and its address is of its function", async () => {
    const tab = await opened({ initPath: axe });
    const panel = await tab.select("lookout");
    await fact(panel, "Threads")
      .filter({ hasText: `1 of phases (pid ${pids.lookout})` })
      .waitFor();
    const { time } = await tab.ask("info");
    const length = time.end - time.start;
    const { start, end } = phases.second_watch;
    const ended = Math.max(end, lastOfLookout);
    for (const [from, to] of await bars(panel)) {
      assert.ok(
        to * length > start && from * length <= ended,
        `${from * length} to ${to * length}, not between ${start} and ${ended}`,
      );
    }
    const [, address] = /^phases\+(0x[0-9a-f]+)$/.exec(await fact(panel, "Address").innerText());
    assert.equal(functionAt(program, address), await panel.locator("h2").innerText());
    assert.deepEqual(await tab.findings(), []);
    await tab.pictures("selection");
    await tab.close();
  });

  scene(
    "Enter before it is known what matches selects the match when it is there",
    async () => {
      const tab = await opened();
      const { keyboard } = tab.page;
      await keyboard.press("/");
      await tab.page.locator(".search input:focus").waitFor();
      await keyboard.type("second_watch");
      await keyboard.press("Enter");
      await tab.panel("Selection");
      await tab.page.locator(".selection h2", { hasText: "second_watch" }).waitFor();
      await tab.close();
    },
    { tier: "all" },
  );

  scene(
    "a function of the table is counted wherever it was called, and a range cuts the time",
    async () => {
      const { start, end } = phases.dog_watch;
      const half = (start + end) / 2;
      const tab = await opened({}, `#s2&range=0-${(half / 1e9).toFixed(3)}`);
      await tab.view(/Functions/);
      const row = tab.page.getByRole("grid", { name: "Functions" }).locator(".row", { hasText: "dog_watch" }).first();
      await row.click();
      await tab.panel("Selection");
      const panel = tab.page.locator(".selection");
      await fact(panel, "Threads")
        .filter({ hasText: `1 of dog (pid ${pids.dog})` })
        .waitFor();
      const label = await panel.getByRole("img", { name: /^From 0\.0+ s to / }).getAttribute("aria-label");
      assert.ok(Math.abs(Number(/ to ([\d.]+) s/.exec(label)[1]) - half / 1e9) < 0.01, label);
      // It began late in the range.
      for (const [, to] of await bars(panel)) assert.ok(to * half > start - 0.01e9, `${to}`);
      await tab.close();
    },
    { tier: "all" },
  );

  scene("a click that names overtake selects the same box in the next graph", async () => {
    const query = { ...QUERY, unnamed: "each-address" };
    const tab = await Tab.open(`${host}#s2&unnamed=each-address`, { init: holdGraphs });
    const { page } = tab;
    await tab.drop(recording);
    await tab.opened();
    await page.evaluate(() => {
      window.perftabHeld = [];
    });
    await named(tab);
    assert.ok((await page.evaluate(() => window.perftabHeld.length)) > 0, "the graph of the names waits");
    const graph = await page.locator(".flame-sticky").boundingBox();
    // Where the thread was started, in the fourth row: one address, whose box keeps its edges when it is named.
    const {
      matches: [callNode],
    } = await tab.ask("search", { query, text: "run_lookout" });
    const whole = await tab.ask("flameGraph", {
      query,
      window: { root: 0, widthPx: graph.width, minPx: 0.5, search: "" },
    });
    const box = whole.callNode.indexOf(callNode);
    const row = whole.rowStart.findLastIndex((first) => first <= box);
    await page.mouse.click(graph.x + (whole.start[box] + whole.end[box]) / 2, graph.y + 18 * (row + 0.5));
    await tab.settled();
    assert.equal(await page.locator('[role=treeitem][aria-selected="true"]').count(), 0, "not before there is a graph");
    await page.evaluate(() => {
      window.perftabHeld.forEach((post) => post());
      window.perftabHeld = null;
    });
    await page.locator('[role=treeitem][aria-selected="true"][aria-label^="run_lookout, phases, matched, "]').waitFor();
    await tab.close();
  });

  scene(
    "bars have the weight of the call in every direction of the tree",
    async () => {
      const tab = await opened();
      for (const direction of ["callees", "inverted"]) {
        const query = { ...QUERY, direction };
        let node = 0;
        for (let depth = 0; depth < 5; depth++) {
          const detail = await tab.ask("callNodeDetail", { query, callNode: node });
          const { bins, runners } = await tab.ask("occurrence", {
            query,
            request: { subject: { kind: "call-node", id: node }, bins: 40 },
          });
          const sum = bins.reduce((sum, weight) => sum + weight, 0);
          assert.equal(sum, detail.totalWeight, `${direction} ${detail.name}`);
          assert.equal(
            runners.processes.reduce((sum, { samples }) => sum + samples, 0),
            detail.totalSamples,
          );
          if (detail.heaviestChild === null) break;
          node = detail.heaviestChild;
        }
      }
      assert.deepEqual(
        await tab.ask("occurrence", { query: QUERY, request: { subject: { kind: "call-node", id: 4_000_000_000 }, bins: 4 } }),
        null,
      );
      await tab.close();
    },
    { tier: "all" },
  );
});
