// The first answer where there are many processes, or little to do: what stands between the root and the first frame is
// chosen, and what is idle can be hidden.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { count } from "./frame.mjs";
import { Parts, SWITCHES, isInstalled, run } from "./recording.mjs";
import { afterScenes, beforeScenes, scene } from "./scene.mjs";
import { writeLibrary, writeRecording } from "./synthetic.mjs";
import { QUERY, Tab } from "./tab.mjs";

const WORKERS = 900;
const MS = 1_000_000;

const parts = new Parts();
let host;
let library;
/** A server, its workers, which differ in their number, and one process whose name has a number and nobody else's. */
let pool;

/** A recording of tasks, each of which has so many samples of one stack. */
function recordingOf(name, tasks) {
  const file = parts.path(name);
  function* samples() {
    let taken = 0;
    for (const { samples, way, ...task } of tasks)
      for (let at = 0; at < samples; at++) {
        taken += 1;
        yield { task, time: 1_000_000_000 + (taken * MS) / 4, cpu: at % 2, weight: MS, way };
      }
  }
  const plain = tasks.map(({ pid, tid, name }) => ({ pid, tid, name }));
  writeRecording(file, library, plain, samples());
  return file;
}

const task = (pid, name, samples, way) => ({ pid, tid: pid, name, samples, way });

beforeScenes(async () => {
  library = writeLibrary(parts, "pool", ["before", "run", "parse", "plan"]);
  const workers = Array.from({ length: WORKERS }, (_, at) => task(1000 + at, `worker-${at}`, 2, [1, 2 + (at % 2)]));
  pool = recordingOf("pool.perf.data", [task(900, "server", 300, [1, 3]), task(901, "python3", 100, [1]), ...workers]);
  host = await parts.host();
});

afterScenes(() => parts.end());

const ALL = 2 * WORKERS + 400;

async function open(recording, fragment = "") {
  const tab = await Tab.open(host + fragment);
  await tab.drop(recording);
  await tab.opened();
  return tab;
}

/** What the first level is, heaviest first, as it is read out. */
async function firstLevel(tab) {
  await tab.tree().focus();
  await tab.page.keyboard.press("0");
  await tab.settled();
  const labels = await tab.page
    .locator('[role=treeitem][aria-level="2"]')
    .evaluateAll((all) => all.map((item) => item.ariaLabel));
  return labels.map((label) => label.split(", total ")[0]);
}

describe("the first level", () => {
  scene("a35 processes whose names differ in digits only are one, and open", async () => {
    const tab = await open(pool);
    const { page } = tab;
    assert.deepEqual(await firstLevel(tab), ["worker-#", "server", "python3"]);
    await tab.pictures("a35-together");
    // It has what all of them have.
    const selected = page.locator('[role=treeitem][aria-selected="true"]');
    const toFirst = async () => {
      await page.keyboard.press("ArrowDown");
      await selected.and(page.locator('[aria-label^="all, "]')).waitFor();
      await page.keyboard.press("ArrowDown");
      await selected.and(page.locator('[aria-label^="worker-#, "]')).waitFor();
    };
    await toFirst();
    await selected.and(page.locator(`[aria-label^="worker-#, total "][aria-label$=" ${count(2 * WORKERS)} samples"]`)).waitFor();
    // It is opened as anything is gone into.
    await page.keyboard.press("Enter");
    const chip = page.locator(".filter-chip", { hasText: `and ${WORKERS - 1} more` });
    await chip.waitFor();
    await page.locator(".showing", { hasText: `Showing ${count(2 * WORKERS)} of ${count(ALL)} samples, ` }).waitFor();
    assert.match((await firstLevel(tab))[0], /^worker-\d+$/);
    await tab.pictures("a35-opened");
    // That is a filter, which its cross, Undo and Back take back.
    await chip.getByRole("button", { name: /^Remove / }).click();
    await chip.waitFor({ state: "detached" });
    assert.deepEqual(await firstLevel(tab), ["worker-#", "server", "python3"]);
    // Nothing else opens so: a process is gone into.
    await toFirst();
    await page.keyboard.press("ArrowRight");
    await selected.and(page.locator('[aria-label^="server, "]')).waitFor();
    await page.keyboard.press("Enter");
    await page.locator(".breadcrumb", { hasText: "server" }).waitFor();
    assert.equal(await page.locator(".filter-chip").count(), 0);
    await tab.close();
  });

  scene("a35 the level that an address names is as it says, and so is one that is chosen", async () => {
    const tab = await open(pool, "#s2&group=process");
    assert.equal((await firstLevel(tab))[0], "server");
    await tab.option("First level", "auto");
    assert.equal((await firstLevel(tab))[0], "worker-#");
    await tab.option("First level", "none");
    assert.equal((await firstLevel(tab))[0].split(",")[0], "pool.so");
    assert.match(new URL(tab.page.url()).hash, /&group=none(&|$)/);
    // The menu of the call tree opens it as well.
    await tab.option("First level", "auto");
    await tab.view(/Call tree/);
    await tab.page.locator(".row", { hasText: "worker-#" }).first().click({ button: "right" });
    await tab.page.getByRole("menuitem", { name: "Show each process" }).click();
    await tab.page
      .locator(".row", { hasText: /worker-\d/ })
      .first()
      .waitFor();
    await tab.close();
  });

  scene("a35 where no process is wide enough for its name there is no first level", async () => {
    const names = Array.from({ length: 60 }, (_, at) => `job-${String.fromCharCode(97 + (at % 26), 97 + Math.floor(at / 26))}`);
    const jobs = recordingOf(
      "jobs.perf.data",
      names.map((name, at) => task(100 + at, name, 5, [1, 2])),
    );
    const tab = await open(jobs);
    assert.match((await firstLevel(tab))[0], /^pool\.so, /);
    // They are there when somebody asks for them.
    await tab.option("First level", "process");
    assert.match((await firstLevel(tab))[0], /^job-/);
    const auto = await tab.ask("callTreeChildren", { query: { ...QUERY, group: "auto", unnamed: "one-per-dso" }, callNode: 0 });
    assert.equal(auto.names.length, 1);
    await tab.close();
  });
});

describe("idle", () => {
  const hide = (tab, what) => tab.page.getByRole("button", { name: `Hide ${what}`, exact: true });
  const chip = (tab, words) => tab.page.locator(".filter-chip", { hasText: words });

  scene("a42 a name and Enter choose just the process of that name, and CPUs are numbers and ranges", async () => {
    const tab = await open(pool);
    const { page } = tab;
    const showing = (samples) => page.locator(".showing", { hasText: `Showing ${count(samples)} of ${count(ALL)}` }).waitFor();
    await page.keyboard.press("t");
    await page.keyboard.type("worker-5");
    // worker-50 and worker-500 have it too.
    await page.getByRole("button", { name: "Only 1 process" }).waitFor();
    await page.keyboard.press("Enter");
    await showing(2);
    await page.keyboard.press("Escape");
    await page
      .locator(".filter-chip")
      .filter({ hasText: "worker-5" })
      .getByRole("button", { name: /^Remove/ })
      .click();
    // A search finds it too, as no function is called so.
    await page.keyboard.press("/");
    await page.keyboard.type("worker-50");
    await page.locator(".search-panel").getByText("No function matches “worker-50”, but 1 process does.").waitFor();
    await page.keyboard.press("Enter");
    await showing(2);
    await page
      .locator(".filter-chip")
      .filter({ hasText: "worker-50" })
      .getByRole("button", { name: /^Remove/ })
      .click();
    // Enter may come before the answer.
    await page.keyboard.press("/");
    await page.getByRole("textbox", { name: /^Search/ }).fill("worker-51");
    await page.keyboard.press("Enter");
    await showing(2);
    await page
      .locator(".filter-chip")
      .filter({ hasText: "worker-51" })
      .getByRole("button", { name: /^Remove/ })
      .click();
    await page.getByRole("button", { name: "CPUs all 2" }).click();
    const field = page.getByRole("textbox", { name: /^Only these CPUs/ });
    // Every second sample of each process is on CPU 1.
    await field.fill("1-3, 8");
    await field.press("Enter");
    await showing(ALL / 2);
    await field.fill("4-7");
    await field.press("Enter");
    await page.getByRole("alert").filter({ hasText: "No such CPU" }).waitFor();
    await field.fill("0-1");
    await field.press("Enter");
    await showing(ALL);
    await tab.close();
  });

  scene("a36 what is idle is hidden with one click, in the next recordings as well, and shown again with one", async () => {
    const idle = 700;
    const host = recordingOf("system.perf.data", [task(0, "swapper", idle, [1]), task(900, "server", 300, [1, 3])]);
    const tab = await open(host);
    const showing = (samples) => tab.page.locator(".showing", { hasText: `Showing ${count(samples)} of ` });
    assert.deepEqual(await firstLevel(tab), ["swapper", "server"]);
    await hide(tab, "idle").click();
    await showing(300).waitFor();
    const hidden = chip(tab, "Idle hidden");
    await hidden.getByRole("button", { name: `Idle hidden, removes 70.0\u202f%, ${count(idle)} samples` }).waitFor();
    assert.equal(await hide(tab, "idle").count(), 0, "there is one place for it");
    assert.deepEqual(await firstLevel(tab), ["server"]);
    assert.match(new URL(tab.page.url()).hash, /&step=drop-idle(&|$)/);
    await tab.pictures("a36-hidden");
    // What has nothing idle says nothing of it; what has is opened so.
    await tab.drop(pool);
    await tab.page.locator(".file-name", { hasText: "pool" }).waitFor();
    await showing(ALL).waitFor();
    await tab.settled();
    assert.equal(await tab.page.locator(".filter-chip").count(), 0);
    assert.equal(await hide(tab, "idle").count(), 0);
    await tab.drop(host);
    await hidden.waitFor();
    await showing(300).waitFor();
    await hidden.getByRole("button", { name: "Remove Idle hidden" }).click();
    await showing(1000).waitFor();
    await hide(tab, "idle").waitFor();
    await tab.pictures("a36-shown");
    // That is remembered, too.
    await tab.drop(pool);
    await tab.page.locator(".file-name", { hasText: "pool" }).waitFor();
    await tab.drop(host);
    await hide(tab, "idle").waitFor();
    await tab.settled();
    assert.equal(await hidden.count(), 0);
    await tab.close();
  });

  scene(
    "a36 off the CPU it is who waits for work, as far as names tell",
    async (t) => {
      if (!isInstalled("perf")) return t.skip("perf is not installed");
      const program = parts.compilePhases();
      const options = ["--buildid-mmap", ...SWITCHES];
      const tab = await open(parts.perf("waits.perf.data", options, [program, "100", "300", "100", "100"]));
      await tab.drop(/=> (\S*libc\.so\.6)/.exec(run("ldd", [program]))[1]);
      await tab.page.locator(".toast", { hasText: "Used 1 of 1 file: libc.so.6." }).waitFor();
      await tab.view(/Heat map/);
      await tab.page.getByRole("button", { name: "Off-CPU" }).click();
      await tab.page.locator(".event-chip", { hasText: "offcpu-time" }).waitFor();
      await tab.view(/Flame graph/);
      await tab.settled();
      const { events, derived_events } = await tab.ask("info");
      const event = events.length + derived_events.findIndex(({ name }) => name === "offcpu-time");
      const found = async (steps, text) => (await tab.ask("search", { query: { ...QUERY, event, steps }, text })).functions;
      const sleeps = "/^(__)?clock_nanosleep/";
      assert.ok((await found([], sleeps)) > 0, `the program sleeps: ${JSON.stringify(await tab.ask("info"))}`);
      await hide(tab, "waiting").click();
      const hidden = chip(tab, "Waiting hidden");
      await hidden.getByRole("button", { name: /^Waiting hidden, removes [\d.]+\s%, [\d,]+ samples?$/ }).waitFor();
      assert.equal(await found([{ kind: "drop-idle" }], sleeps), 0);
      await tab.pictures("a36-waiting-hidden");
      await tab.close();
    },
    { tier: "all" },
  );
});
