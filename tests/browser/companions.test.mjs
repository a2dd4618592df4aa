// What compilers split off: the page gets it from the machine of `perftab view`, where debug information says it is.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { Parts, isInstalled } from "./recording.mjs";
import { afterScenes, beforeScenes, eventually, scene } from "./scene.mjs";
import { Tab } from "./tab.mjs";

const parts = new Parts();
const hasPerf = isInstalled("perf");
let recording;

const SOURCE = `
static volatile unsigned long sum;
static inline __attribute__((always_inline)) void innermost(unsigned long n) { while (n--) sum += n; }
__attribute__((noinline)) void tides(unsigned long n) { innermost(n); }
int main(void) { tides(60000000); return 0; }
`;

beforeScenes(() => {
  if (!hasPerf) {
    console.log("SKIPPED: companions: perf is not installed");
    return;
  }
  const folder = parts.path("split");
  mkdirSync(folder);
  writeFileSync(`${folder}/ebb.c`, SOURCE);
  const build = "gcc -O1 -g -gsplit-dwarf -c ebb.c -o unit.o && gcc -Wl,--build-id unit.o -o ebb";
  execFileSync("sh", ["-ec", build], { cwd: folder });
  recording = parts.perf("split.perf.data", ["-e", "cpu-clock:u", "-F", "1999"], [`${folder}/ebb`]);
});

afterScenes(() => parts.end());

const ofProgram = (functions) =>
  functions
    .filter(({ name, dso }) => name !== null && /(^|\/)ebb$/.test(dso))
    .map(({ name, self, total }) => `${name} ${self} ${total}`)
    .sort();

scene("perftab view offers the units that compilers split off", async () => {
  if (!hasPerf) return;
  const expected = ofProgram(parts.json("report", recording, "--json").functions);
  assert.ok(
    expected.some((words) => words.startsWith("innermost ")),
    expected.join("\n"),
  );
  const tab = await Tab.open(await parts.view(recording), { browser: "own" });
  await tab.opened();
  await eventually(async () => assert.deepEqual(ofProgram(await tab.functions()), expected));
  await tab.close();

  rmSync(parts.path("split/unit.dwo"));
  const without = ofProgram(parts.json("report", recording, "--json").functions);
  assert.ok(!without.some((words) => words.startsWith("innermost ")));
  const other = await Tab.open(await parts.view(recording), { browser: "own" });
  await other.opened();
  await eventually(async () => assert.deepEqual(ofProgram(await other.functions()), without));
  await other.close();
});
