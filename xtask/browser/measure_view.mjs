// Looks at a recording with `perftab view`, as the README says, and prints what it took, one JSON line a run:
//
//   node measure_view.mjs PERFTAB PAGE.html RECORDING RUNS
//
// Each run chooses the same file from disk, for the ratio; then it leaves a served page alone until all names are there; then
// it presses the key of a view in another served page until they are. The clock of a served page starts with its navigation.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { launch } from "../../tests/browser/chromium.mjs";
import { longTasks, observe, observeCalls, peakMiB, wholeGraph } from "./watch.mjs";

const [binary, html, recording, runs] = process.argv.slice(2);
const PATIENCE = { timeout: 600_000, polling: 20 };
/** So long after the last answer nothing more comes. */
const QUIET_MS = 3000;

for (let run = 0; run < Number(runs); run++) {
  const chosen = await inTab(pathToFileURL(resolve(html)).href, "chosen", chooseFile);
  const alone = await served(leaveAlone);
  const { pressMs, namesMs: pressedNamesMs } = await served(pressKeys);
  console.log(JSON.stringify({ ...chosen, ...alone, pressMs, pressedNamesMs }));
}

/** Opens the address in a browser of its own, and says what `use` found there. */
async function inTab(address, what, use) {
  const { browser, page, errors, close } = await launch({ reducedMotion: "no-preference" });
  await page.addInitScript(observe, what);
  await page.addInitScript(observeCalls);
  await page.goto(address);
  const found = await use(page, browser);
  await close();
  if (errors.length > 0) {
    console.error(errors.join("\n"));
    process.exitCode = 1;
  }
  return found;
}

/** When the first flame graph was painted, and the first of the whole recording. */
async function firstGraphs(page) {
  const whole = await (await page.waitForFunction(wholeGraph, undefined, PATIENCE)).jsonValue();
  const first = await page.evaluate(() => performance.getEntriesByName("perftab:flame-graph")[0].startTime);
  return { first, whole };
}

async function chooseFile(page) {
  const chooser = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: "Choose files" }).click();
  await (await chooser).setFiles(resolve(recording));
  const { first, whole } = await firstGraphs(page);
  const chosen = await page.evaluate(() => window.measured.chosen);
  return { chosenMs: Math.round(first - chosen), chosenWholeMs: Math.round(whole - chosen) };
}

/** Serves the recording to a page; `use` says what it did there. */
async function served(use) {
  const view = spawn(binary, ["view", "--no-open", resolve(recording)], { stdio: ["ignore", "pipe", "ignore"] });
  const lines = createInterface({ input: view.stdout })[Symbol.asyncIterator]();
  const { value: address } = await lines.next();
  const found = await inTab(address, "served", use);
  const { sentMB, serverCpuMs } = costOf(view.pid);
  view.kill("SIGTERM");
  return { ...found, sentMB, serverCpuMs };
}

/** What the server has written, nearly all of it to the page, and its CPU time. */
function costOf(pid) {
  const [, written] = /^wchar: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, "utf8"));
  // proc_pid_stat(5): utime and stime, in ticks of 10 ms, behind the name in parentheses.
  const [user, system] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ").slice(11, 13);
  return { sentMB: Math.round(written / 1e6), serverCpuMs: 10 * (Number(user) + Number(system)) };
}

/** Waits until everything has its name: when the last answer came. */
async function allNames(page) {
  const quiet = (quietMs) => {
    const { open, asked, answered } = window.measuredCalls;
    return asked > 0 && open.size === 0 && performance.now() - answered > quietMs && answered;
  };
  return Math.round(await (await page.waitForFunction(quiet, QUIET_MS, PATIENCE)).jsonValue());
}

async function leaveAlone(page, browser) {
  const { first, whole } = await firstGraphs(page);
  const namesMs = await allNames(page);
  const { flameGraph: graphs = 0, fetchDebuginfod: fetched = 0 } = await page.evaluate(() => window.measuredCalls.byMethod);
  return {
    firstMs: Math.round(first),
    wholeMs: Math.round(whole),
    namesMs,
    graphs,
    fetched,
    longestTaskMs: (await longTasks(page)).longest,
    peakMiB: await peakMiB(browser),
  };
}

/** Goes from the graph to the functions and back until all names are there; how long the functions took at most. */
async function pressKeys(page) {
  await firstGraphs(page);
  let isNamed = false;
  const named = allNames(page).then((namesMs) => {
    isNamed = true;
    return namesMs;
  });
  let pressMs = 0;
  // The view's own questions end the quiet, so what is waited for is that nothing is fetched any more.
  while (!isNamed && (await page.evaluate(isFetching))) {
    const begun = await page.evaluate(() => performance.now());
    await page.keyboard.press("3");
    await page.locator(".functions .row:not(.loading)").first().waitFor({ timeout: PATIENCE.timeout });
    pressMs = Math.max(pressMs, Math.round((await page.evaluate(() => performance.now())) - begun));
    await page.keyboard.press("2");
    await page.locator(".flame-sticky").waitFor({ timeout: PATIENCE.timeout });
    await page.waitForTimeout(200);
  }
  return { pressMs, namesMs: await named };
}

/** Runs in the page. */
function isFetching() {
  const { open, byMethod } = window.measuredCalls;
  return byMethod.fetchDebuginfod === undefined || [...open.values()].some(({ method }) => method === "fetchDebuginfod");
}
