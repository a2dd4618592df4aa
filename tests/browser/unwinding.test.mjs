// Copies of stacks, as `perf record --call-graph dwarf` makes them: the page unwinds what the files that it is given tell how
// to, and shows what `perftab report` shows of the same files.
import assert from "node:assert/strict";
import { Parts, html, isInstalled, run } from "./recording.mjs";
import { pathToFileURL } from "node:url";
import { afterScenes, beforeScenes, eventually, scene } from "./scene.mjs";
import { Tab } from "./tab.mjs";

const parts = new Parts();
const hasPerf = isInstalled("perf");
let program;
let recording;
let libraries;

beforeScenes(() => {
  if (!hasPerf) {
    console.log("SKIPPED: unwinding: perf is not installed");
    return;
  }
  program = parts.compile(["tides"]);
  const options = ["-e", "cpu-clock:u", "-F", "1999", "--call-graph", "dwarf,16384", "--buildid-mmap"];
  recording = parts.perf("dwarf.perf.data", options, [program, "80"]);
  libraries = [...run("ldd", [program]).matchAll(/(\/\S+) \(0x/g)].map(([, path]) => path);
});

afterScenes(() => parts.end());

/** The functions with a name, with their weights. The page has the last part of a path. */
const named = (functions) =>
  functions
    .filter(({ name }) => name !== null && !/^0x/.test(name))
    .map(({ name, dso, self, total }) => `${name} ${dso.split("/").at(-1)} ${self} ${total}`)
    .sort();

scene("a25 stacks become longer with each file, and are those of the report", async () => {
  if (!hasPerf) return;
  const tab = await Tab.open(pathToFileURL(html).href, { browser: "own", offline: true });
  await tab.drop(recording);
  await tab.opened();
  const kinds = async () => (await tab.ask("info")).warnings.map(({ kind }) => kind);
  assert.ok((await kinds()).includes("not-unwound"));

  const given = [];
  for (const file of [program, ...libraries]) {
    given.push(file);
    await tab.drop(file);
    await tab.page
      .locator(".toast")
      .filter({ hasText: file.split("/").at(-1) })
      .first()
      .waitFor();
    await tab.settled();
    const images = given.flatMap((file) => ["--image", file]);
    const { functions } = parts.json("report", recording, "--json", "--no-local", ...images);
    assert.deepEqual(named(await tab.functions()), named(functions), `with ${given.join(" and ")}`);
  }
  const main = (await tab.functions()).find(({ name }) => name === "main");
  const { samples, weight } = (await tab.ask("info")).events[0];
  assert.ok(main.total > 0.95 * weight, `main has ${main.total} of ${weight}, of ${samples} samples`);
  await tab.close();
});

scene("a25 callers are guessed by frame pointer if asked for, and marked", async () => {
  if (!hasPerf) return;
  const tab = await Tab.open(pathToFileURL(html).href, { browser: "own", offline: true });
  await tab.drop(recording);
  await tab.opened();
  // The C library alone: the program's own code, which has frame pointers, stays without tables.
  const libc = libraries.find((path) => path.includes("libc.so"));
  await tab.drop(libc);
  await tab.settled();
  const reported = (...options) =>
    named(parts.json("report", recording, "--json", "--no-local", "--image", libc, ...options).functions);
  const guess = async (name) => {
    await tab.page.locator(".warnings-button").click();
    await tab.page.getByRole("button", { name }).click();
    await tab.page.keyboard.press("Escape");
    await tab.settled();
  };
  const isMarked = (list) => list.some((words) => words.startsWith("callers guessed by frame pointer"));
  const [certain, guessed] = [reported(), reported("--guess-callers")];
  assert.ok(!isMarked(certain) && isMarked(guessed), guessed.join("\n"));
  await eventually(async () => assert.deepEqual(named(await tab.functions()), certain));
  await guess("Guess callers by frame pointer");
  await eventually(async () => assert.deepEqual(named(await tab.functions()), guessed));
  await guess("Do not guess callers");
  await eventually(async () => assert.deepEqual(named(await tab.functions()), certain));
  await tab.close();
});

scene("a25 perftab view unwinds with the files of its machine, also those that stacks lead to", async () => {
  if (!hasPerf) return;
  const tab = await Tab.open(await parts.view(recording), { browser: "own" });
  await tab.opened();
  const { functions } = parts.json("report", recording, "--json");
  const ofProgram = (list) => named(list.filter(({ dso }) => dso.endsWith("tides")));
  const expected = ofProgram(functions);
  assert.ok(expected.length > 4, expected.join("\n"));
  await eventually(async () => assert.deepEqual(ofProgram(await tab.functions()), expected));
  await tab.close();
});

scene("a25 parts of files that travelled in a recording unwind and name its stacks", async () => {
  const own = parts.compile(["embedded", "tides"]);
  const options = ["-e", "cpu-clock:u", "-F", "1999", "--call-graph", "dwarf-dump", "--embed", "unwind,symbols"];
  const recording = parts.record("embedded.perf.data", options, [own, "40"]);
  const tab = await Tab.open(pathToFileURL(html).href, { browser: "own", offline: true });
  await tab.drop(recording);
  await tab.opened();
  const { functions } = parts.json("report", recording, "--json", "--no-local");
  const expected = named(functions);
  assert.ok(
    expected.some((row) => /^main tides /.test(row)),
    expected.join("\n"),
  );
  await eventually(async () => assert.deepEqual(named(await tab.functions()), expected));
  await tab.close();
});
