// Every form that a recording comes in, as perf and packers make it here: each opens with the samples that perf counts.
import assert from "node:assert/strict";
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe } from "node:test";
import { fileURLToPath } from "node:url";
import { constants, gunzipSync } from "node:zlib";
import { seconds } from "./limits.mjs";
import { Parts, SWITCHES, binary, isInstalled, run, samplesByPerf } from "./recording.mjs";
import { afterScenes, beforeScenes, lazily, scene } from "./scene.mjs";
import { QUERY, Tab, axe } from "./tab.mjs";

const fixtures = fileURLToPath(new URL("../fixtures/", import.meta.url));

const parts = new Parts();
let program;
let recording;
let expected;
let host;

beforeScenes(async () => {
  program = parts.compile(["tides"]);
  recording = parts.perf("tides.data", ["-e", "cpu-clock", "-F", "999"], [program, "12"]);
  expected = samplesByPerf(recording);
  host = await parts.host();
});

afterScenes(() => parts.end());

/** How far into a recording two thirds of its records end, by the place and size of them in its header. */
function amongRecords(recording) {
  const [start, size] = [40, 48].map((field) => Number(recording.readBigUInt64LE(field)));
  return start + Math.floor((size * 2) / 3);
}

/** What the page found, by event; events without samples left out, as perf script leaves them out. */
async function samplesInPage(tab) {
  const { events } = await tab.ask("info");
  return Object.fromEntries(events.filter(({ samples }) => samples > 0).map(({ name, samples }) => [name, samples]));
}

/** Opens what is given in a tab of its own. */
async function opened(...paths) {
  const tab = await Tab.open(host, { initPath: axe });
  await tab.drop(...paths);
  await tab.opened();
  return tab;
}

/** Drops the program: its functions get their names, whatever form the recording has. */
async function assertNamed(tab) {
  await tab.drop(program);
  await tab.status("tides", "matched");
  assert.ok((await tab.functions()).some(({ name }) => name === "rolling_sea"));
}

describe("12 forms of recordings", () => {
  scene(
    "12a what perf writes into a pipe",
    async () => {
      // Build-ids come from the kernel: what is piped has no table of them at its end.
      const piped = parts.perfPipe("piped.data", ["--buildid-mmap", "-e", "cpu-clock", "-F", "999"], [program, "12"]);
      const tab = await opened(piped);
      assert.equal((await tab.ask("info")).format.mode, "pipe");
      assert.deepEqual(await samplesInPage(tab), samplesByPerf(piped));
      await assertNamed(tab);
      await tab.pictures("12-pipe");
      await tab.close();
    },
    { tier: "all" },
  );

  scene("12b records that perf compressed", async () => {
    const compressed = parts.perf("compressed.data", ["-z", "--buildid-mmap", "-e", "cpu-clock", "-F", "999"], [program, "12"]);
    const tab = await opened(compressed);
    assert.equal((await tab.ask("info")).format.compression, "zstd");
    assert.deepEqual(await samplesInPage(tab), samplesByPerf(compressed));
    await assertNamed(tab);
    await tab.close();
  });

  for (const [packer, ending] of [
    ["gzip", "gz"],
    ["xz", "xz"],
    ["zstd", "zst"],
  ]) {
    scene(
      `12c a recording packed by ${packer} is a recording, a binary packed by it is not`,
      async (t) => {
        if (!isInstalled(packer)) {
          console.log(`SKIPPED: a recording packed by ${packer}: ${packer} is not installed`);
          return t.skip();
        }
        const tab = await Tab.open(host);
        // Both at once: the recording opens, the binary is offered to it.
        await tab.drop(parts.pack(packer, program, ending), parts.pack(packer, recording, ending));
        await tab.opened();
        assert.equal(await tab.page.locator(".file-name").innerText(), `tides.data.${ending}`);
        assert.deepEqual(await samplesInPage(tab), expected);
        await tab.page.locator(".toast", { hasText: `tides.${ending}` }).waitFor();
        await assertNamed(tab);
        await tab.close();
      },
      { tier: "all" },
    );
  }

  scene(
    "12d a packed recording that is cut shows what came before",
    async () => {
      const cut = parts.path("cut.data.gz");
      const whole = readFileSync(parts.pack("gzip", recording, "gz"));
      let length = whole.length;
      const unpacked = () => gunzipSync(whole.subarray(0, length), { finishFlush: constants.Z_SYNC_FLUSH });
      while (unpacked().length > amongRecords(readFileSync(recording))) length -= 64;
      writeFileSync(cut, whole.subarray(0, length));
      const tab = await opened(cut);
      const { samples, warnings } = await tab.ask("info");
      assert.ok(samples > 0 && samples < expected["cpu-clock"], `${samples} of ${expected["cpu-clock"]} samples`);
      assert.ok(warnings.length > 0);
      await tab.page.locator(".banner").first().waitFor();
      await tab.close();
    },
    { tier: "all" },
  );

  describe("a folder of perf record --threads", () => {
    const recorded = lazily(() => {
      const folder = parts.perf("threads.data", ["--threads", "-a", "-e", "cpu-clock", "-F", "999"], [program, "12"]);
      const files = readdirSync(folder).map((name) => join(folder, name));
      assert.ok(files.length > 1, "a stream for each processor");
      return { folder, files };
    });

    async function assertWhole(tab, name) {
      assert.equal(await tab.page.locator(".file-name").innerText(), name);
      assert.equal((await tab.ask("info")).format.mode, "directory");
      assert.deepEqual(await samplesInPage(tab), samplesByPerf(recorded().folder));
      await assertNamed(tab);
    }

    scene(
      "12e dropped as a folder",
      async () => {
        const tab = await Tab.open(host);
        await tab.dropFromOutside(recorded().folder);
        await tab.opened();
        await assertWhole(tab, "threads.data");
        await tab.pictures("12-folder");
        await tab.close();
      },
      { tier: "all" },
    );

    scene("12f its files dropped together", async () => {
      const tab = await opened(...recorded().files);
      await assertWhole(tab, "data");
      await tab.close();
    });

    scene(
      "12g chosen in the picker",
      async () => {
        const tab = await Tab.open(host);
        await tab.pick(() => tab.page.getByRole("button", { name: "Choose a folder" }).click(), recorded().folder);
        await tab.opened();
        await assertWhole(tab, "threads.data");
        await tab.close();
      },
      { tier: "all" },
    );

    scene(
      "12h served by perftab view, beside a packed one",
      async () => {
        const tab = await Tab.open(await parts.view("--no-local", recorded().folder, parts.pack("gzip", recording, "gz")));
        const card = tab.page.locator(".card", { hasText: "served by perftab view" });
        const row = (name) => card.getByRole("listitem").filter({ hasText: name });
        await row("threads.data").getByRole("button", { name: "Open" }).click();
        await tab.opened();
        await assertWhole(tab, "threads.data");
        await tab.page.getByRole("button", { name: "Menu" }).click();
        await tab.page.getByRole("button", { name: "Open tides.data.gz" }).click();
        await tab.page.locator(".file-name", { hasText: "tides.data.gz" }).waitFor();
        await tab.settled();
        assert.deepEqual(await samplesInPage(tab), expected);
        await tab.close();
      },
      { tier: "all" },
    );

    scene(
      "12i one of its streams alone says what is missing",
      async () => {
        const tab = await Tab.open(host);
        await tab.drop(recorded().files.find((file) => /^data\.\d+$/.test(basename(file)) && statSync(file).size > 0));
        await tab.page
          .getByRole("alert")
          .filter({ hasText: /is one stream of a folder recording/ })
          .waitFor();
        await tab.picture("12-a-stream-alone");
        await tab.close();
      },
      { tier: "all" },
    );
  });

  scene(
    "12j a folder of binaries is no recording",
    async () => {
      const folder = parts.path("binaries");
      mkdirSync(folder);
      copyFileSync(program, join(folder, "data"));
      copyFileSync(recording, join(folder, "data.0"));
      const tab = await opened(recording);
      await tab.dropFromOutside(parts.path("binaries"));
      // The recording in it opens again, and what names it came beside it.
      await tab.page.locator(".file-name", { hasText: "data.0" }).waitFor();
      await tab.status("tides", "matched");
      await tab.close();
    },
    { tier: "all" },
  );

  scene(
    "12k a recording that is cut says how far it was read",
    async () => {
      const cut = parts.path("cut.data");
      const whole = readFileSync(recording);
      writeFileSync(cut, whole.subarray(0, amongRecords(whole)));
      const tab = await opened(cut);
      const { warnings } = await tab.ask("info");
      await tab.page
        .locator(".banner", {
          hasText:
            /^Read up to [\d,.]+ (k?B|MB); the rest could not be read \(the file is truncated at 0x[0-9a-f]+\)\. [\d,]+ samples are shown\.$/,
        })
        .waitFor();
      await tab.page.getByRole("button", { name: /warnings?$/ }).click();
      const list = tab.page.getByRole("region", { name: /Warnings/ });
      for (const { message } of warnings) await list.getByText(message).first().waitFor();
      assert.deepEqual(await tab.findings(), []);
      await tab.pictures("12-warnings");
      const text = await tab.copied(() => tab.page.getByRole("button", { name: "Copy as text" }).click());
      for (const { kind, message } of warnings) assert.ok(text.includes(kind) && text.includes(message), text);
      await tab.close();
    },
    { tier: "all" },
  );

  scene(
    "12l time off the processor is an event of its own",
    async () => {
      const script = `sleep 0.2; ${program} 5; sleep 0.1`;
      const switches = parts.perf("switches.data", SWITCHES, ["sh", "-c", script]);
      const tab = await opened(switches);
      assert.deepEqual(await samplesInPage(tab), samplesByPerf(switches));
      const { derived_events } = await tab.ask("info");
      const offCpu = derived_events.find(({ name }) => name === "offcpu-time");
      // Both sleeps are in it.
      assert.ok(offCpu.weight >= 0.3e9, `${offCpu.weight} ns`);
      await tab.page.keyboard.press("e");
      const group = tab.page.getByRole("group", { name: "Derived" });
      assert.deepEqual(await tab.findings(), []);
      await tab.pictures("12-events");
      await group.getByRole("button", { name: /offcpu-time/ }).click();
      await tab.settled();
      await tab.page.locator(".context-bar", { hasText: "derived" }).waitFor();
      const graph = await tab.ask("flameGraph", {
        query: { event: (await tab.ask("info")).events.length, direction: "callees", group: "process", inlines: "shown" },
        window: { root: 0, widthPx: 1000, minPx: 0.5, search: "" },
      });
      assert.equal(graph.allTotal, offCpu.weight);
      await tab.pictures("12-off-cpu");
      await tab.close();
    },
    { tier: "all" },
  );

  // More than a hundred files, each with the views of all of its events.
  scene(
    "12m every fixture opens with what the binary finds in it, and every view answers",
    async (t) => {
      const names = existsSync(fixtures) ? readdirSync(fixtures).filter((name) => name.endsWith(".perf.data")) : [];
      if (names.length === 0) {
        console.log(`SKIPPED: fixtures in the page: there is no ${fixtures}`);
        return t.skip();
      }
      const tab = await Tab.open(host);
      const found = {};
      for (const name of names) found[name] = await openInWorker(tab, filesOf(join(fixtures, name)));
      const wanted = Object.fromEntries(names.map((name) => [name, infoByBinary(join(fixtures, name))]));
      assert.deepEqual(found, wanted);
      await tab.close();
    },
    { tier: "all", limit: seconds(300) },
  );
});

/** The files of a recording, `data` first where it is a folder. */
function filesOf(path) {
  if (!statSync(path).isDirectory()) return [path];
  const streams = readdirSync(path).filter((name) => /^data\.\d+$/.test(name));
  streams.sort((a, b) => Number(a.slice(5)) - Number(b.slice(5)));
  return ["data", ...streams].map((name) => join(path, name));
}

/** What page and binary must agree about. */
function gist({ events, derived_events, samples, lost, format, time, dsos, warnings }) {
  const ids = dsos.map(({ path, build_id, samples }) => `${path} ${build_id} ${samples}`).sort();
  return { events, derived_events, samples, lost, format, time, ids, warnings };
}

/** What `perftab info` says; null where it refuses the file. */
function infoByBinary(path) {
  try {
    return gist(JSON.parse(run(binary, ["info", "--json", path], { stdio: ["ignore", "pipe", "ignore"] })));
  } catch {
    return null;
  }
}

/** What the page's worker says, after it has shown a flame graph and the functions of every event; null if it refuses. */
async function openInWorker(tab, paths) {
  const input = await tab.page.evaluateHandle(() =>
    Object.assign(document.createElement("input"), { type: "file", multiple: true }),
  );
  await input.asElement().setInputFiles(paths);
  const reply = await input.evaluate(async (input, query) => {
    const { ask } = window.perftabTest;
    const reply = await ask("open", { parts: [...input.files] });
    if (reply.error !== undefined) return reply;
    const { events, derived_events } = reply.ok.info;
    const all = [...events, ...derived_events];
    for (const event of all.keys()) {
      const { ok: generation } = await ask("generation", {});
      const window = { root: 0, widthPx: 1000, minPx: 0.5, search: "" };
      const order = { key: "self", direction: "descending" };
      const of = { ...query, event };
      const views = [
        ask("flameGraph", { query: of, window }, generation),
        ask("functions", { query: of, order, from: 0, to: 50 }, generation),
      ];
      const failed = (await Promise.all(views)).find(({ error }) => error !== undefined);
      if (failed !== undefined) return failed;
    }
    return reply;
  }, QUERY);
  const refusals = ["not-perf-data", "truncated", "invalid", "unsupported", "unpacking"];
  if (reply.error !== undefined)
    assert.ok(refusals.includes(reply.error.kind), `${basename(paths[0])}: ${JSON.stringify(reply.error)}`);
  return reply.ok === undefined ? null : gist(reply.ok.info);
}
