// Code that Node.js makes: the page names it by the files that its process wrote, as `perftab report` does.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { Parts, html, isInstalled } from "./recording.mjs";
import { afterScenes, beforeScenes, eventually, scene } from "./scene.mjs";
import { Tab } from "./tab.mjs";

const parts = new Parts();
const hasPerf = isInstalled("perf");
let recording;
let jitdump;

const SCRIPT = `
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
for (let round = 0; round < 40; round++) fib(22);
`;

beforeScenes(() => {
  if (!hasPerf) {
    console.log("SKIPPED: jitted: perf is not installed");
    return;
  }
  const app = parts.path("app.js");
  writeFileSync(app, SCRIPT);
  const options = ["-k", "mono", "-e", "cpu-clock:u", "-F", "1999"];
  // It writes where it runs.
  const node = `cd ${parts.folder} && exec ${process.execPath} --perf-prof --interpreted-frames-native-stack ${app}`;
  recording = parts.perf("jitted.perf.data", options, ["sh", "-c", node]);
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
  await tab.close();
});
