// Code that Node.js makes: the page names it by the files that its process wrote, and unwinds stacks through it, as
// `perftab report` does.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { Parts, html, isInstalled } from "./recording.mjs";
import { afterScenes, beforeScenes, eventually, scene } from "./scene.mjs";
import { QUERY, Tab } from "./tab.mjs";

const parts = new Parts();
const hasPerf = isInstalled("perf");
let recording;
let jitdump;

/** V8 writes right paths once it has collected garbage. */
const SCRIPT = `
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
const rows = [];
for (let row = 0; row < 20000; row++) rows.push({ row, text: "x".repeat(row % 70) });
for (let round = 0; round < 6; round++) JSON.parse(JSON.stringify(rows));
for (let round = 0; round < 20; round++) fib(25);
`;

beforeScenes(() => {
  if (!hasPerf) {
    console.log("SKIPPED: jitted: perf is not installed");
    return;
  }
  const app = parts.path("app.js");
  writeFileSync(app, SCRIPT);
  const options = ["-k", "mono", "-e", "cpu-clock:u", "-F", "1999", "--call-graph", "dwarf,8192", "--buildid-mmap"];
  // It writes where it runs.
  const node = `${process.execPath} --perf-prof --perf-prof-unwinding-info --interpreted-frames-native-stack`;
  recording = parts.perf("jitted.perf.data", options, ["sh", "-c", `cd ${parts.folder} && exec ${node} ${app}`]);
  const dsos = parts.json("report", recording, "--json").dsos;
  jitdump = dsos.find(({ path, kind }) => kind === "user" && /\/jit-\d+\.dump$/.test(path)).path;
});

afterScenes(() => parts.end());

/** The functions of code that was made, with their weights. */
const made = (functions) =>
  functions
    .filter(({ name, dso }) => name !== null && /jit-\d+\.dump$/.test(dso))
    .map(({ name, self, total }) => `${name} ${self} ${total}`)
    .sort();

/** Whether the instructions of a function are those that `perftab annotate` has with these arguments. */
async function hasInstructionsOf(tab, reference, ...found) {
  const [annotated] = parts.json("annotate", "--json", ...found, recording, reference.name).functions;
  const listing = await tab.page.evaluate(() => document.getElementById("listing").textContent.replace(/\n\/\/end$/, ""));
  const merged = { ...QUERY, inlines: "merged" };
  const [{ pieces, ended }] = await tab.ask("listCode", { query: merged, function: reference, syntax: "intel", listing });
  assert.equal(ended, null);
  const [{ startInFile, starts, instructions, instructionSamples }] = pieces;
  const texts = Array.from(starts, (_, at) =>
    Buffer.from(instructions.texts.slice(at === 0 ? 0 : instructions.ends[at - 1], instructions.ends[at])).toString(),
  );
  assert.deepEqual(
    texts.map((text, at) => [`0x${(BigInt(startInFile) + BigInt(starts[at])).toString(16)}`, text, instructionSamples[at]]),
    annotated.instructions.map(({ address, text, samples }) => [address, text ?? "", samples]),
  );
}

scene("a jitdump that is dropped names the code of its process, and the ledger says so", async () => {
  if (!hasPerf) return;
  const tab = await Tab.open(pathToFileURL(html).href, { browser: "own", offline: true });
  await tab.drop(recording);
  await tab.opened();
  assert.deepEqual(made(await tab.functions()), []);
  await tab.drop(jitdump);
  await tab.settled();
  const expected = made(parts.json("report", recording, "--json", "--no-local", "--image", jitdump).functions);
  assert.ok(
    expected.some((words) => words.includes("fib")),
    expected.join("\n"),
  );
  await eventually(async () => assert.deepEqual(made(await tab.functions()), expected));
  const row = (await tab.ask("info")).dsos.find(({ status }) => status === "self-named");
  // Its name ends with where it begins: all of it is in one line of the script.
  const { name } = (await tab.functions()).find(({ name }) => /^JS:\*fib .*:2:13$/.test(name));
  const { path, build_id } = (await tab.ask("dsos")).find(({ status }) => status === "self-named");
  const reference = { dso: { path, buildId: build_id }, name, address: null };
  const heat = await tab.ask("hotLines", { query: QUERY, function: reference });
  assert.ok(heat.self.weight > 0);
  assert.deepEqual([...new Set(heat.lines.map(({ line }) => line))].filter(Boolean), [2]);
  // Its instructions are in the jitdump, too.
  await hasInstructionsOf(tab, reference, "--no-local", "--image", jitdump);
  assert.match(row.reason, /^named by process \d+ itself, checked: pid, mapped by it, clock monotonic, /);
  await tab.close();
});

scene("perftab view finds what processes of its machine say of their code", async () => {
  if (!hasPerf) return;
  const tab = await Tab.open(await parts.view(recording), { browser: "own" });
  await tab.opened();
  const expected = made(parts.json("report", recording, "--json").functions);
  assert.ok(expected.length > 0);
  await eventually(async () => assert.deepEqual(made(await tab.functions()), expected));
  // Nobody has to drop the jitdump for its instructions.
  const { name } = (await tab.functions()).find(({ name }) => /^JS:\*fib .*:2:13$/.test(name));
  const { path, build_id } = (await tab.ask("dsos")).find(({ status }) => status === "self-named");
  await hasInstructionsOf(tab, { dso: { path, buildId: build_id }, name, address: null });
  await tab.close();
});
