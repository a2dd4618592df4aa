// Files for other tools, read by those tools: pprof of the Go tools, Firefox Profiler's own importer, speedscope in a
// tab, an XML parser. What they add up is what `perftab report` says.
import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { copyFileSync, readFileSync, statSync } from "node:fs";
import { basename } from "node:path";
import { describe } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { gunzipSync } from "node:zlib";
import { visit } from "./chromium.mjs";
import { keepPicture } from "./pictures.mjs";
import { Parts, binary, isInstalled, run } from "./recording.mjs";
import { afterScenes, beforeScenes, scene } from "./scene.mjs";
import { Tab, axe } from "./tab.mjs";

const packages = fileURLToPath(new URL("../../www/node_modules/", import.meta.url));
const importer = `${packages}@firefox-devtools/profiler-cli/dist/profiler-cli.js`;

const parts = new Parts();
/** One thread, for what is shown of a thread at a time. */
let tides;
let tidesRecording;
/** Several threads and processes, and two events. */
let recording;

beforeScenes(() => {
  tides = parts.compile(["tides"]);
  tidesRecording = parts.record("tides.perf.data", ["-F", "999"], [tides, "30"]);
  recording = parts.record("phases.perf.data", ["-e", "cpu-clock", "-e", "page-faults", "-F", "999"], [parts.compilePhases()]);
});

afterScenes(() => parts.end());

function exported(format, from, ...options) {
  const file = parts.path(`${basename(from)}.${format}`);
  parts.perftab("export", from, "--to", format, "-o", file, ...options);
  return file;
}

/** Self weights by name, of functions that have one and of which samples ended in some. */
function selfByName(from, event) {
  const sums = new Map();
  for (const { name, self } of parts.json("report", "--json", from, "--event", event).functions) {
    if (name !== null && self > 0) sums.set(name, (sums.get(name) ?? 0) + self);
  }
  return sums;
}

function assertSame(found, expected) {
  const sorted = (sums) => [...sums].sort(([a], [b]) => (a < b ? -1 : 1));
  assert.ok(expected.size > 2, `${expected.size} functions`);
  assert.deepEqual(sorted(found), sorted(expected));
}

describe("pprof", () => {
  const hasGo = isInstalled("go");
  const pprof = (...options) =>
    run("go", ["tool", "pprof", ...options], {
      env: { ...process.env, HOME: parts.folder },
      stdio: ["ignore", "pipe", "ignore"],
    });
  const top = (file, event, unit, ...options) => {
    const table = pprof(
      "-top",
      "-nodecount=1000000",
      "-nodefraction=0",
      `-sample_index=${event}`,
      `-unit=${unit}`,
      ...options,
      file,
    );
    const total = Number(/^Showing nodes accounting for .* of ([\d.]+)\D* total$/m.exec(table)[1]);
    const self = new Map();
    for (const [, flat, name] of table.matchAll(/^ *([\d.]+)[a-z]* +[\d.<]+% +[\d.]+% +\S+ +[\d.<]+% {2}(.+)$/gm)) {
      if (Number(flat) > 0 && !name.startsWith("[") && name !== "<unknown>")
        self.set(name.replace(/ \(inline\)$/, ""), Number(flat));
    }
    return { total, self };
  };

  scene("go tool pprof adds up what perftab reports, event by event", (t) => {
    if (!hasGo) return skip(t, "pprof of the Go tools: go is not installed");
    const file = exported("pprof", recording);
    for (const [event, unit] of [
      ["cpu-clock", "ns"],
      ["page-faults", "count"],
    ]) {
      const { total, self } = top(file, event, unit, "-symbolize=none");
      assert.equal(total, parts.json("report", "--json", recording, "--event", event).weight, event);
      assertSame(self, selfByName(recording, event));
    }
  });

  scene("go tool pprof names code by build-id and offset, where perftab had no file", (t) => {
    if (!hasGo) return skip(t, "pprof naming by itself: go is not installed");
    const file = exported("pprof", tidesRecording, "--no-local");
    const { self } = top(file, "cpu-clock", "ns", "-symbolize=local");
    // It names the functions that the linker knows.
    const { functions } = parts.json("report", "--json", "--no-inline", tidesRecording);
    // But not main, even of a program that spends its time there (Go 1.19); a sample in it is one run's in a hundred.
    const ours = functions.filter(({ name, dso, self }) => dso === tides && self > 0 && name !== "main");
    assert.ok(ours.length > 1);
    for (const { name, self: weight } of ours) assert.equal(self.get(name), weight, name);
  });
});

describe("Firefox Profiler", () => {
  scene("its importer adds up what perftab reports, and knows build-ids and times", async () => {
    const file = exported("firefox", recording);
    // The path of a socket has to be short.
    const session = { ...process.env, PROFILER_CLI_SESSION_DIR: `${parts.path("ff")}-s` };
    const ask = (...words) =>
      promisify(execFile)("node", [importer, ...words], { env: session, encoding: "utf8", maxBuffer: 1 << 28 }).then(
        ({ stdout }) => stdout,
      );
    const json = async (...words) => JSON.parse(await ask(...words, "--json"));
    const named = parts.path("phases.json.gz");
    copyFileSync(file, named);
    try {
      // It starts a process that reads the profile, and says so too where that one is not ready within half a second.
      await ask("load", named).catch(() => {});
      let threads;
      for (let tries = 0; threads === undefined; tries++) {
        threads = await json("thread", "list").catch((error) => {
          if (tries === 60) throw error;
        });
      }
      const sums = { "cpu-clock": new Map(), "page-faults": new Map() };
      const profile = JSON.parse(gunzipSync(readFileSync(file)));
      for (const [index, { name }] of profile.threads.entries()) {
        const event = /\((.+)\)$/.exec(name)[1];
        const { functions, weightType } = await json("thread", "functions", "--thread", `t-${index}`, "--limit", "1000000");
        assert.equal(weightType, event === "cpu-clock" ? "tracing-ms" : "samples");
        const scale = weightType === "tracing-ms" ? 1e6 : 1;
        for (const { name, selfSamples } of functions.filter(({ selfSamples }) => selfSamples > 0)) {
          sums[event].set(name, (sums[event].get(name) ?? 0) + Math.round(selfSamples * scale));
        }
      }
      for (const [event, found] of Object.entries(sums)) {
        // Code without a name is DSO+0xADDRESS.
        assertSame(new Map([...found].filter(([name]) => !/\+0x[0-9a-f]+$/.test(name))), selfByName(recording, event));
      }
      const ids = new Map(parts.json("info", "--json", recording).dsos.map(({ path, build_id }) => [path, build_id]));
      assert.ok(profile.libs.length > 1);
      for (const { path, codeId } of profile.libs) assert.equal(codeId, ids.get(path), path);
      const { rootRange } = (await json("profile", "meta")).context;
      const durationMs = rootRange.end - rootRange.start;
      const { start, end } = parts.json("info", "--json", recording).time;
      assert.ok(Math.abs(durationMs - (end - start) / 1e6) < 50, `${durationMs} ms`);
    } finally {
      await ask("stop", "--all").catch(() => {});
    }
  });
});

describe("speedscope", () => {
  scene("opens the file and adds up what perftab reports", async () => {
    const file = exported("speedscope", tidesRecording);
    const { page, errors, close } = await visit();
    try {
      await page.goto(pathToFileURL(`${packages}speedscope/dist/release/index.html`).href);
      await page.locator("input[type=file]").first().setInputFiles(file);
      await page.getByText("Sandwich").click();
      await page.getByText("Symbol Name").waitFor();
      const rows = await page
        .locator("tr")
        .evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.innerText)));
      const milliseconds = (text) => /^([\d.]+)(ms|s) /.exec(text)?.slice(1) ?? [NaN];
      const found = rows.flatMap(([, self, name]) => {
        const [number, unit] = milliseconds(self ?? "");
        return Number(number) > 0 ? [[name, Number(number) * (unit === "s" ? 1000 : 1)]] : [];
      });
      const expected = selfByName(tidesRecording, "cpu-clock");
      assert.ok(found.length > 2);
      // It shows two decimals.
      for (const [name, self] of found.filter(([name]) => expected.has(name))) {
        assert.ok(Math.abs(self - expected.get(name) / 1e6) <= (self >= 1000 ? 5.001 : 0.00501), `${name}: ${self}`);
      }
      const [heaviest] = [...expected].sort(([, a], [, b]) => b - a)[0];
      assert.ok(
        found.some(([name]) => name === heaviest),
        heaviest,
      );
      assert.deepEqual(errors, []);
      await keepPicture(page, "export-speedscope");
    } finally {
      await close();
    }
  });
});

describe("the picture", () => {
  for (const colorScheme of ["light", "dark"]) {
    scene(`is XML, needs nothing else, and its text fits, ${colorScheme}`, async () => {
      const file = exported("svg", recording, "--event", "cpu-clock");
      const { page, errors, close } = await visit({ colorScheme, width: 1240, height: 500 });
      try {
        await page.goto(pathToFileURL(file).href);
        const { boxes, names, outside } = await page.evaluate(() => {
          const boxes = [...document.querySelectorAll("svg svg")].map((box) => {
            const text = box.querySelector("text");
            return {
              title: box.querySelector("title").textContent,
              width: box.width.baseVal.value,
              text: text?.getComputedTextLength() ?? 0,
            };
          });
          return {
            boxes,
            names: document.documentElement.nodeName,
            outside: document.querySelectorAll("script, image, use, foreignObject, [href], [src], [onclick]").length,
          };
        });
        assert.equal(names, "svg");
        assert.equal(outside, 0);
        assert.ok(boxes.length > 10);
        for (const { title, width, text } of boxes) assert.ok(text === 0 || text + 4 <= width, `${title}: ${text} in ${width}`);
        const { functions, weight } = parts.json("report", "--json", recording, "--event", "cpu-clock");
        const { name, self } = functions[0];
        const share = `${((self / weight) * 100).toFixed(1)}\u2009%`;
        assert.ok(
          boxes.some(({ title }) => title.startsWith(`${name}\n`) && title.includes(`self ${share}`)),
          `${name} ${share}`,
        );
        assert.deepEqual(errors, []);
        await keepPicture(page, `export-svg-${colorScheme}`);
      } finally {
        await close();
      }
    });
  }
});

describe("the page", () => {
  scene("a32 lists what each file keeps, lacks and weighs, and saves the same files as the command", async () => {
    const host = await parts.host();
    const tab = await Tab.open(host, { initPath: axe });
    await tab.drop(tidesRecording);
    await tab.opened();
    await tab.drop(tides);
    await tab.status("tides", "matched");
    await tab.settled();
    const { page } = tab;
    await page.getByRole("button", { name: "Share", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "Share this profile" });
    await dialog.getByRole("button", { name: "Export", exact: true }).click();
    await dialog.getByText("pprof has no sample times and no CPUs.").waitFor();
    const list = dialog.getByRole("table", { name: "For other tools" });
    const row = (save) => list.getByRole("row").filter({ has: page.getByRole("button", { name: save }) });
    const sizeOf = (save) => row(save).getByRole("cell").nth(1);
    await sizeOf("Save as text").filter({ hasText: /\d/ }).waitFor();
    for (const [save, keeps] of [
      ["Save for Firefox Profiler", "Stacks, processes and threads, sample times, source lines, build-ids."],
      ["Save for pprof", "Stacks, processes and threads, source lines, addresses, build-ids."],
      ["Save as text", "Stacks, process names, weights."],
    ]) {
      await row(save).getByText(keeps, { exact: true }).waitFor();
    }
    assert.deepEqual(await tab.findings(), []);
    await tab.pictures("export");
    const saved = [
      ["Save for Firefox Profiler", "firefox", "json.gz"],
      ["Save for speedscope", "speedscope", "speedscope.json"],
      ["Save for pprof", "pprof", "pb.gz"],
      ["Save as SVG", "svg", "svg"],
      ["Save as text", "collapsed", "collapsed.txt"],
    ];
    for (const [label, format, ending] of saved) {
      const said = await sizeOf(label).innerText();
      const [download] = await Promise.all([page.waitForEvent("download"), dialog.getByRole("button", { name: label }).click()]);
      const { size } = statSync(await download.path());
      const [, number, unit] = /^([\d.,]+)\s(B|kB|MB)$/.exec(said);
      const step = { B: 1, kB: 1e3, MB: 1e6 }[unit];
      // It is rounded to a digit behind the point.
      assert.ok(Math.abs(Number(number.replace(",", "")) * step - size) <= 0.051 * step, `${label}: ${said}, ${size} bytes`);
      assert.equal(download.suggestedFilename(), `tides.perf.${ending}`);
      const unpacked = (file) =>
        (ending.endsWith(".gz") ? gunzipSync(readFileSync(file)) : readFileSync(file)).toString("latin1");
      const command = exported(format, tidesRecording, "--no-local", "--image", tides);
      assert.equal(unpacked(await download.path()), unpacked(command), format);
    }
    await tab.close();
  });
});

describe("the command", () => {
  scene("says what a format cannot hold, and that a terminal is no place for a binary file", () => {
    const said = spawnSync(binary, ["export", tidesRecording, "--to", "pprof", "--no-local"], {
      env: { ...process.env, HOME: parts.folder },
    });
    assert.match(said.stderr.toString(), /pprof has no sample times and no CPUs\./);
    assert.deepEqual([...said.stdout.subarray(0, 2)], [0x1f, 0x8b]);
    // script(1) gives it a terminal.
    const words = [binary, "export", tidesRecording, "--to", "firefox"].join(" ");
    const shown = spawnSync("script", ["-qec", words, "/dev/null"]);
    assert.equal(shown.status, 1);
    assert.match(shown.stdout.toString(), /this format is binary; name a file with -o tides\.perf\.json\.gz/);
  });
});

function skip(t, why) {
  console.log(`SKIPPED: ${why}`);
  t.skip();
}
