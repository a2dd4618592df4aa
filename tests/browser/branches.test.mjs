// Branches that a CPU recorded: the basic blocks of a function beside its lines. The recording is written here. Its branches
// are those of a model that runs the program, so it is known how often each block ran.
import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { Parts, run } from "./recording.mjs";
import { afterScenes, beforeScenes, eventually, scene } from "./scene.mjs";
import { writeLibrary, writeRecording } from "./synthetic.mjs";
import { QUERY, Tab, axe } from "./tab.mjs";

const parts = new Parts();
let host;
let library;
let recording;

/** Instructions of each function; all are `nop`, as nobody runs them. `walk` goes round three times, and calls `step` once. */
const LENGTHS = { walk: 10, step: 2, forever: 2 };
/** Numbers of instructions: of the branches of `walk`, and of where these and `step` lead in it. */
const [ROUND, JZ, NOP, CALL, EVEN, JNZ, RET] = [1, 3, 4, 5, 6, 7, 8];
const STEP = LENGTHS.walk;
const FOREVER = STEP + LENGTHS.step;
const DEPTH = 16;

/** What runs, from `forever` on: numbers of instructions, and where each jumped to. */
function* trace() {
  for (;;) {
    yield [FOREVER, 0];
    yield [0, null];
    for (const left of [2, 1, 0]) {
      for (let at = ROUND; at < JZ; at++) yield [at, null];
      if (left % 2 === 0) yield [JZ, EVEN];
      else {
        yield [JZ, null];
        yield [NOP, null];
        yield [CALL, STEP];
        yield [STEP, null];
        yield [STEP + 1, EVEN];
      }
      yield [EVEN, null];
      yield [JNZ, left > 0 ? ROUND : null];
    }
    yield [RET, FOREVER + 1];
    yield [FOREVER + 1, FOREVER];
  }
}

/** Samples of two processes, and what ran in each. Every third branch of a sample was mispredicted; cycles are 2 to 4. */
function samples(unit, count) {
  const steps = trace();
  const found = [];
  for (let number = 0; number < count; number++) {
    const ran = [];
    let branches = [];
    while (branches.length < DEPTH) {
      const [at, to] = steps.next().value;
      // What is before the oldest branch was not recorded.
      if (branches.length > 0 || to !== null) ran.push([at, to]);
      if (to !== null) branches.push({ from: at * unit, to: to * unit });
    }
    branches = branches
      .reverse()
      .map((branch, index) => ({ ...branch, mispredicted: index % 3 === 0, cycles: 2 + (number % 3) }));
    found.push({ task: number % 2, time: 1000 * (number + 1), at: branches[0].to, branches, ran });
  }
  return found;
}

let all;
let unit;

beforeScenes(async () => {
  const functions = Object.entries(LENGTHS).map(([name, length]) => {
    const code = Array.from({ length }, (_, at) => `.loc 1 ${10 + at}\nnop`);
    return `.globl ${name}\n.type ${name},@function\n${name}:\n${code.join("\n")}\n.size ${name},.-${name}`;
  });
  library = writeLibrary(parts, "walk", [`.file 1 "walk.c"`, ...functions].join("\n"));
  unit = library.length / (FOREVER + LENGTHS.forever);
  const tasks = [10, 11].map((pid) => ({ pid, tid: pid, name: `walker${pid}` }));
  all = samples(unit, 40);
  recording = parts.path("branches.perf.data");
  const written = all.map(({ task, time, at, branches }) => ({ task: tasks[task], time, cpu: 0, weight: 1, at, branches }));
  writeRecording(recording, library, tasks, written, true);
  host = await parts.host();
});

afterScenes(() => parts.end());

const blocksOf = (page, name) => page.getByRole("grid", { name: `Basic blocks of ${name}` });
const words = (text) => text.replaceAll(/\s+/g, " ").trim();
const address = (at) => `0x${(library.offset + at * unit).toString(16)}`;

async function open(fragment = "", options = {}, file = recording) {
  const tab = await Tab.open(`${host}#s2&view=functions${fragment}`, options);
  await tab.drop(file, library.library);
  await tab.page.locator(".file-name").waitFor();
  await tab.status("walk.so", "matched");
  await tab.settled();
  return tab;
}

async function showLines(tab, name) {
  await tab.page.locator(".functions .row:not(.loading)", { hasText: name }).first().click();
  await tab.page.locator(".sandwich-band", { hasText: name }).waitFor();
  await tab.page.getByRole("combobox", { name: "Show as" }).selectOption("lines");
}

/** Blocks of `walk` as the model ran them: first and last instruction, times, and ways out. */
function expected(taken) {
  const ran = taken.flatMap(({ ran }) => ran);
  const times = (at) => ran.filter(([here]) => here === at).length;
  const jumps = (from, to) => ran.filter(([here, there]) => here === from && there === to).length;
  const way = (from, to, name) => ({ times: jumps(from, to), name });
  const block = (start, last, ways) => {
    const on = times(last) - ways.reduce((sum, { times }) => sum + times, 0);
    const next = on > 0 && ways.length > 0 ? [{ times: on, name: "↓ not taken" }] : [];
    return [{ times: times(last), name: start }, ...ways.map(({ times, name }) => ({ times, name: `→ ${name}` })), ...next];
  };
  const behind = (branch) => `behind ${address(branch)}`;
  return [
    // The first instruction ran up to the block that a jump leads to.
    block(address(0), 0, []),
    block(`${address(ROUND)} – ${address(JZ)}`, JZ, [way(JZ, EVEN, address(EVEN))]),
    block(`${behind(JZ)} – ${address(CALL)}`, CALL, [way(CALL, STEP, "step")]),
    block(`${address(EVEN)} – ${address(JNZ)}`, JNZ, [way(JNZ, ROUND, address(ROUND))]),
    block(`${behind(JNZ)} – ${address(RET)}`, RET, [way(RET, FOREVER + 1, "forever")]),
  ].flat();
}

async function rowsOf(tab, name) {
  const rows = await blocksOf(tab.page, name).locator(".rows-body .row").all();
  return Promise.all(
    rows.map(async (row) => ({
      times: Number(await row.locator(".times").innerText()),
      name: words(await row.locator(".code").innerText()).replace(/ walk\.c:\d+$/, ""),
    })),
  );
}

scene("a27 basic blocks tell how often each ran and where it led", async () => {
  const tab = await open("", { initPath: axe });
  const { page } = tab;
  await showLines(tab, "walk");
  await blocksOf(page, "walk").waitFor();
  await tab.settled();
  assert.deepEqual(await rowsOf(tab, "walk"), expected(all));
  // Each branch of a sample took as many cycles as the others.
  const mean = (all.reduce((sum, { branches }) => sum + branches[0].cycles, 0) / all.length).toFixed(1);
  const cycles = await blocksOf(page, "walk").locator(".rows-body .row", { hasText: "– " }).locator(".cycles").allInnerTexts();
  assert.equal(cycles.length, 4);
  assert.ok(cycles.every((text) => Math.abs(text - mean) < 0.5));
  const round = blocksOf(page, "walk").locator(".row", { hasText: `${address(ROUND)} – ` });
  assert.match(words(await round.innerText()), new RegExp(`walk\\.c:${10 + ROUND}`));

  // A block marks its lines. A way out leads to a block of the same function, or to another function; keys do the same.
  const marked = page.getByRole("grid", { name: "Source lines of walk" }).locator(".row.selected");
  await round.click();
  await page.getByRole("row", { selected: true, name: new RegExp(`${address(ROUND)} – `) }).waitFor();
  await blocksOf(page, "walk").focus();
  await page.keyboard.press("ArrowDown");
  const selected = blocksOf(page, "walk").locator(".row.selected");
  await selected.filter({ hasText: `→ ${address(EVEN)}` }).waitFor();
  await page.keyboard.press("Enter");
  await selected.filter({ hasText: `${address(EVEN)} – ` }).waitFor();
  assert.equal(await selected.count(), 1);
  assert.ok((await marked.count()) <= 2);
  assert.deepEqual(await tab.findings(), []);
  await tab.pictures("a27-blocks", { arrange: () => blocksOf(page, "walk").scrollIntoViewIfNeeded() });
  await blocksOf(page, "walk").getByRole("button", { name: "to step" }).click();
  await page.locator(".sandwich-band", { hasText: "step" }).waitFor();
  await blocksOf(page, "step").waitFor();

  // Each of its instructions ran as often as its block.
  const [{ times }] = await rowsOf(tab, "step");
  await page.keyboard.press("5");
  const code = page.getByRole("grid", { name: "Instructions of step" });
  await code.getByRole("columnheader", { name: "Ran" }).waitFor();
  assert.deepEqual(await code.locator(".rows-body .ran").allInnerTexts(), [String(times), String(times)]);
  await code.locator(`.ran[title*="as a branch taken"]`).waitFor();
  await tab.pictures("a27-ran");
  await tab.close();
});

scene(
  "a27 filters decide which branches count, and what they do not is said",
  async () => {
    const tab = await open("&processes=11");
    const { page } = tab;
    await showLines(tab, "walk");
    await blocksOf(page, "walk").waitFor();
    await tab.settled();
    assert.deepEqual(await rowsOf(tab, "walk"), expected(all.filter(({ task }) => task === 1)));
    // Of other filters they have not been read.
    const reference = { query: QUERY, function: await tab.ask("functionRef", { functionId: 0 }) };
    assert.equal(await tab.ask("branchBlocks", reference), null);
    // Steps change stacks, and no branches.
    await showLines(tab, "step");
    await page.locator(".sandwich-band").getByRole("button", { name: "Merge" }).click();
    await tab.settled();
    await showLines(tab, "walk");
    await page.getByRole("note").filter({ hasText: "transforms do not" }).waitFor();
    await tab.settled();
    assert.deepEqual(await rowsOf(tab, "walk"), expected(all.filter(({ task }) => task === 1)));
    await tab.close();
  },
  { tier: "all" },
);

scene(
  "a27 a function that only branches lead to has its basic blocks",
  async () => {
    const copy = parts.path("walk_alone.perf.data");
    const task = { pid: 10, tid: 10, name: "walker10" };
    const inWalk = all.filter(({ at }) => at < STEP * unit);
    assert.ok(inWalk.length > 5 && inWalk.some(({ ran }) => ran.some(([at]) => at === STEP)));
    const written = inWalk.map(({ time, at, branches }) => ({ task, time, cpu: 0, weight: 1, at, branches }));
    writeRecording(copy, library, [task], written, true);
    const tab = await open("", { initPath: axe }, copy);
    const { page } = tab;
    await showLines(tab, "walk");
    await blocksOf(page, "walk").getByRole("button", { name: "to step" }).click();
    await blocksOf(page, "step").waitFor();
    const calls = inWalk.flatMap(({ ran }) => ran).filter(([, to]) => to === EVEN);
    const [block] = await rowsOf(tab, "step");
    assert.equal(block.times, calls.filter(([at]) => at === STEP + 1).length);
    await page.getByText("of step: none, as no samples of it are shown").waitFor();
    assert.deepEqual(await tab.findings(), []);
    await tab.pictures("a27-without-samples");
    await page.getByRole("combobox", { name: "Show as" }).selectOption("flame");
    await page.getByRole("status").getByRole("button", { name: "Show basic blocks" }).click();
    await blocksOf(page, "step").waitFor();
    // Shares go where there is no room for them; cycles stay.
    const [shares, cycles] = [".share", ".cycles"].map((those) => blocksOf(page, "step").locator(`.rows-body ${those}`).first());
    for (const [width, isWide] of [
      [1900, true],
      [420, false],
    ]) {
      await page.setViewportSize({ width, height: 900 });
      await shares.waitFor({ state: isWide ? "visible" : "hidden" });
      assert.match(await cycles.innerText(), /^[234]\.\d$/);
      assert.ok(await cycles.isVisible());
    }
    await tab.close();
  },
  { tier: "all" },
);

scene(
  "a27 a recording that cannot be read again is asked for",
  async () => {
    const copy = parts.path("gone.perf.data");
    writeFileSync(copy, "");
    run("cp", [recording, copy]);
    const tab = await open("", {}, copy);
    rmSync(copy);
    await showLines(tab, "walk");
    await tab.page.getByRole("status").filter({ hasText: "Open it again to see them" }).waitFor();
    await tab.page.getByRole("button", { name: "Try again" }).click();
    await tab.page.getByRole("status").filter({ hasText: "Open it again to see them" }).waitFor();
    await tab.close();
  },
  { tier: "all" },
);

scene(
  "a27 reading branches can be cancelled, and begun again",
  async () => {
    const tab = await Tab.open(await parts.view(recording, "--image", library.library));
    await tab.opened();
    const { page } = tab;
    // Whatever is read from now on arrives when it is let through.
    let letThrough;
    const isLetThrough = new Promise((resolve) => {
      letThrough = resolve;
    });
    await page.route(/\/profile\//, async (route) => {
      await isLetThrough;
      await route.continue();
    });
    await tab.view(/Functions/);
    await showLines(tab, "walk");
    const said = page.getByRole("status");
    await said.filter({ hasText: "Reading branches from the recording" }).waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    letThrough();
    await said.filter({ hasText: "Branches were not read" }).waitFor();
    // They are not read for another function either, until they are asked for.
    await showLines(tab, "step");
    await said.filter({ hasText: "Branches were not read" }).waitFor();
    await page.getByRole("button", { name: "Read branches" }).click();
    await blocksOf(page, "step").waitFor();
    await tab.close();
  },
  { tier: "all" },
);

scene(
  "a27 without branches nothing is said of them",
  async () => {
    const plain = parts.path("plain.perf.data");
    const task = { pid: 10, tid: 10, name: "walker10" };
    writeRecording(
      plain,
      library,
      [task],
      all.map(({ time, at }) => ({ task, time, cpu: 0, weight: 1, at })),
    );
    const tab = await open("", {}, plain);
    await showLines(tab, "walk");
    await tab.page.getByRole("grid", { name: "Source lines of walk" }).waitFor();
    await tab.settled();
    await eventually(async () => assert.equal(await tab.page.getByText("Basic blocks").count(), 0));
    await tab.close();
  },
  { tier: "all" },
);
