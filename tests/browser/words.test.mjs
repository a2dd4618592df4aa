// What the page says when there is nothing to show, or something went wrong: each case is produced, and read.
import assert from "node:assert/strict";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { describe } from "node:test";
import { fileURLToPath } from "node:url";
import { writeCrowd } from "./crowd.mjs";
import { Parts, samplesByPerf } from "./recording.mjs";
import { afterScenes, beforeScenes, eventually, scene } from "./scene.mjs";
import { writeLibrary, writeRecording } from "./synthetic.mjs";
import { Tab } from "./tab.mjs";

const fixture = (name) => fileURLToPath(new URL(`../fixtures/${name}.perf.data`, import.meta.url));
const grouped = (number) => number.toLocaleString("en-US");

const parts = new Parts();
let host;
let program;
let recording;

beforeScenes(async () => {
  program = parts.compile(["recorded", "tides"]);
  recording = parts.record("tides.perf.data", ["-F", "999"], [program, "20"]);
  host = await parts.host();
});

afterScenes(() => parts.end());

async function opened(file, address = host, options = {}) {
  const tab = await Tab.open(address, options);
  await tab.drop(file);
  await tab.opened();
  return tab;
}

/** A file of the given content under this name. */
function written(name, content) {
  const path = parts.path("written", name);
  writeFileSync(path, content);
  return path;
}

/** The records of a file that perftab wrote: where each begins, and its type. (perf.data-file-format.txt: header of 104.) */
function recordsOf(bytes) {
  const [offset, size] = [bytes.readBigUInt64LE(40), bytes.readBigUInt64LE(48)].map(Number);
  const records = [];
  for (let at = offset; at < offset + size; at += bytes.readUInt16LE(at + 6)) records.push({ at, type: bytes.readUInt32LE(at) });
  return records;
}

const SAMPLE = 9;

/** The whole text of a line that says so, once it is there. */
async function line(tab, selector, pattern) {
  const found = tab.page.locator(selector).filter({ hasText: pattern }).first();
  await found.waitFor();
  return (await found.innerText()).replace(/\s+/g, " ").trim();
}

describe("files that do not open", () => {
  scene("a19 what is no profile says what it begins with, and leads to another file", async () => {
    const tab = await Tab.open(host);
    await tab.drop(written("notes.txt", "# Notes of a tide\n"));
    const words = await line(tab, "[role=alert]", "notes.txt");
    assert.ok(words.startsWith("notes.txt is not a perf.data file. It begins with 23 20 4e 6f."), words);
    await tab.pictures("a19-not-a-profile");
    await tab.pick(() => tab.page.getByRole("button", { name: "Choose another file" }).click(), recording);
    await tab.opened();
    await tab.close();
  });

  scene(
    "a19 a binary that comes first waits",
    async () => {
      const tab = await Tab.open(host);
      copyFileSync(program, parts.path("written", "nginx"));
      await tab.drop(parts.path("written", "nginx"));
      await tab.page
        .getByText("nginx is a binary. Add a perf.data too; the file is used if its build-id was recorded.", { exact: true })
        .waitFor();
      await tab.pictures("a19-binary-first");
      await tab.close();
    },
    { tier: "all" },
  );

  scene("a19 a link of a newer version, and one that is cut off", async () => {
    const tab = await opened(recording);
    const { payload } = await tab.ask("share", { budget: 65_536, base: "", parts: { folders: false, host: false } });
    await tab.close();
    const newer = await Tab.open(`${host}#p2.AAAA`);
    assert.equal(await line(newer, "[role=alert] span", "perftab 2"), "This link needs perftab 2. This is perftab 1.");
    await newer.pictures("a19-newer-link");
    await newer.close();
    const cut = await Tab.open(`${host}#${payload.slice(0, -300)}`);
    const words = await line(cut, "[role=alert] span", "cut off");
    const said = `This link is cut off: ${grouped(payload.length - 300)} of ${grouped(payload.length)} characters arrived.`;
    assert.ok(words.startsWith(said), `${words}\n${said}`);
    await cut.pictures("a19-cut-link");
    await cut.close();
  });
});

describe("files that open in part", () => {
  scene("a19 damage says how far the file was read, why no further, and how much is shown", async () => {
    const bytes = readFileSync(recording);
    const records = recordsOf(bytes);
    const { at } = records[Math.floor(records.length * 0.7)];
    bytes.writeUInt16LE(0, at + 6);
    const tab = await opened(written("damaged.perf.data", bytes));
    const words = await line(tab, ".banner", "could not be read");
    const before = records.filter((record) => record.at < at && record.type === SAMPLE).length;
    const size = at < 10_000 ? `${grouped(at)} B` : `${(at / 1000).toPrecision(3)} kB`;
    assert.equal(
      words,
      `Read up to ${size}; the rest could not be read (record size 0 at 0x${at.toString(16)}). ${grouped(before)} samples are shown.`,
    );
    await tab.pictures("a19-damaged");
    await tab.page.locator(".warnings-button").click();
    const panel = tab.page.locator(".warnings-panel");
    for (const head of ["Kind", "Count", "File offset", "Consequence", "Remedy"])
      await panel.getByRole("columnheader", { name: head }).waitFor();
    const funnel = (await panel.locator(".funnel").innerText()).replace(/\s+/g, " ");
    assert.match(funnel, /recorded [\d,]+ → lost [\d,]+ → unreadable [\d,]+ → truncated stacks [\d,]+ → shown [\d,]+/);
    assert.match(funnel, new RegExp(`shown ${grouped(before)}`));
    await tab.pictures("a19-warnings");
    const copied = await tab.copied(async () => {
      // Waited for from before the click: it is said for a second and a half.
      await Promise.all([
        panel.getByRole("button", { name: "Copied" }).waitFor(),
        panel.getByRole("button", { name: "Copy as text" }).click(),
      ]);
    });
    assert.match(copied, new RegExp(`damaged\\t1\\t0x${at.toString(16)}\\t`));
    await tab.close();
  });

  scene(
    "a19 a recorder that died, as a header without sizes tells",
    async () => {
      const bytes = readFileSync(recording);
      // perf writes the size of the data, and which features follow, when it ends.
      bytes.fill(0, 48, 56);
      bytes.fill(0, 72, 104);
      const tab = await opened(written("died.perf.data", bytes));
      const said = await line(tab, ".banner", "recorder");
      assert.equal(said, "The recorder did not finish. Host, events and build-ids from the end of the file are absent.");
      await tab.pictures("a19-recorder-died");
      await tab.close();
    },
    { tier: "all" },
  );
});

describe("nothing to show", () => {
  const state = (fields) => `${host}#s2&${fields}`;

  scene(
    "a19 an event without samples leads to one that has some",
    async () => {
      const tab = await opened(fixture("perf-dummy"));
      // Nobody can choose it from the menu; an address can name it.
      await tab.page.evaluate(() => {
        location.hash = "#s2&event=0&view=functions";
        location.hash = "#s2&event=0";
      });
      const counted = samplesByPerf(fixture("perf-dummy"));
      const [[name, samples]] = Object.entries(counted);
      const empty = tab.page.locator(".view-empty");
      await empty.waitFor();
      await tab.settled();
      assert.match(
        (await empty.innerText()).replace(/\s+/g, " "),
        new RegExp(`^This file has 0 samples of dummy\\. It has ${grouped(samples)} of ${name}\\.`),
      );
      await tab.pictures("a19-no-samples");
      await empty.getByRole("button", { name: `Show ${name}` }).click();
      await empty.waitFor({ state: "detached" });
      await tab.close();
    },
    { tier: "all" },
  );

  scene(
    "a19 a recording without call chains says so",
    async () => {
      const tab = await opened(fixture("perf-several"));
      await tab.page.getByText("Recorded without call chains. Record with -g to get stacks.").waitFor();
      await tab.pictures("a19-one-level");
      await tab.close();
    },
    { tier: "all" },
  );

  scene("a19 filters that leave nothing can be undone one by one, or all", async () => {
    const tab = await opened(recording, state("processes=1&threads=2&comms=nobody"));
    const empty = tab.page.locator(".view-empty");
    await empty.getByText("Nothing is left after 3 filters.").waitFor();
    await tab.pictures("a19-filtered-away");
    await empty.getByRole("button", { name: "Remove the last" }).click();
    await empty.getByText("Nothing is left after 2 filters.").waitFor();
    await empty.getByRole("button", { name: "Clear all" }).click();
    await empty.waitFor({ state: "detached" });
    await tab.close();
  });

  scene(
    "a19 a range without samples names its limits",
    async () => {
      const tab = await opened(recording, state("range=35.1-35.5"));
      await tab.page.locator(".view-empty").getByText("No samples from 35.1 s to 35.5 s.").waitFor();
      await tab.pictures("a19-empty-range");
      await tab.close();
    },
    { tier: "all" },
  );

  scene("a19 a search that finds nothing says how much has no name, and leads to the DSOs", async () => {
    const tab = await opened(recording);
    await tab.page.keyboard.press("/");
    await tab.page.keyboard.type("foo_that_is_not");
    const panel = tab.page.locator(".search-panel");
    await panel.waitFor();
    const unnamed = (100 - Number.parseFloat(await tab.page.locator(".coverage-line").innerText())).toFixed(1);
    await eventually(async () => {
      assert.match(
        (await panel.innerText()).replace(/\s+/g, " "),
        new RegExp(`^Nothing named “foo_that_is_not”\\. ${unnamed} % of samples have no name yet\\. Show DSOs`),
      );
    });
    await tab.pictures("a19-search");
    await panel.getByRole("button", { name: "Show DSOs" }).click();
    await tab.page.getByRole("tab", { name: "DSOs", selected: true }).waitFor();
    await tab.close();
  });

  scene(
    "a19 without context switches the event menu says how to record them",
    async () => {
      const tab = await opened(fixture("perf-several"));
      await tab.page.locator(".event-chip").click();
      await tab.page
        .getByText("No context switches were recorded. Record with perf record --off-cpu or --switch-events.")
        .waitFor();
      await tab.pictures("a19-no-off-cpu");
      await tab.close();
    },
    { tier: "all" },
  );
});

describe("a worker that ends", () => {
  /** Answers what is opened next as a worker does that has died. */
  const dying = (message) => `window.Worker = class extends window.Worker {
    postMessage(data) {
      if (data.method !== "open") return super.postMessage(data);
      const reply = { id: data.id, error: { kind: "died", message: ${JSON.stringify(message)} } };
      this.dispatchEvent(new MessageEvent("message", { data: reply }));
    }
  }`;

  scene("a19 says that files are unchanged, and offers to reload and to copy a report", async () => {
    const tab = await Tab.open(host, { init: dying("unreachable executed\nthe session held 12 MB"), spy: false });
    await tab.drop(recording);
    const died = tab.page.locator(".died");
    await died.waitFor();
    assert.match(
      (await died.innerText()).replace(/\s+/g, " "),
      /^perftab stopped working on this file\. Your files are unchanged\. Reload Copy report$/,
    );
    await tab.pictures("a19-died");
    assert.match(await tab.copied(() => died.getByRole("button", { name: "Copy report" }).click()), /unreachable executed/);
    await died.getByRole("button", { name: "Reload" }).click();
    await tab.page.getByRole("heading", { name: "Drag files or a folder here" }).waitFor();
    await tab.close();
  });

  scene(
    "a19 says where its memory ended, and what opens the file all the same",
    async () => {
      const tab = await Tab.open(host, { init: dying("unreachable executed\nthe session held 3100 MB"), spy: false });
      await tab.drop(recording);
      const words = await line(tab, ".died p", "memory");
      assert.equal(
        words,
        "This tab ran out of memory at 3.1 GB. Open it with perftab view tides.perf.data, or summarize it with perftab report.",
      );
      await tab.pictures("a19-out-of-memory");
      await tab.close();
    },
    { tier: "all" },
  );
});

describe("work that takes a while", () => {
  /** A worker that reads on and on: it has said how far it is, and answers everything else. */
  const holdOpening = () => {
    const { postMessage } = Worker.prototype;
    Worker.prototype.postMessage = function hold(data, ...rest) {
      if (data.method !== "open") return postMessage.call(this, data, ...rest);
      this.onmessage(
        new MessageEvent("message", { data: { id: data.id, progress: { stage: "reading", done: 61.3e6, total: 182e6 } } }),
      );
    };
  };

  scene("a19 names its stage, and Cancel restores what was there", async () => {
    const tab = await opened(recording);
    const before = await tab.functions();
    await tab.page.evaluate(holdOpening);
    copyFileSync(recording, parts.path("written", "slow.perf.data"));
    await tab.drop(parts.path("written", "slow.perf.data"));
    const work = tab.page.locator(".status-work");
    await work.getByText("Reading 61 of 182 MB").waitFor();
    const bar = tab.page.locator(".work-bar").getByRole("progressbar");
    await eventually(async () => assert.equal(await bar.getAttribute("aria-valuenow"), "34"));
    assert.equal((await bar.boundingBox()).height, 2);
    await tab.view(/Call tree/);
    await tab.page.locator(".row").first().waitFor();
    await tab.view(/Flame graph/);
    await tab.pictures("a19-reading");
    await tab.page.setViewportSize({ width: 420, height: 900 });
    const cancel = await work.getByRole("button", { name: "Cancel" }).boundingBox();
    const sheet = await tab.page.locator(".sheet").boundingBox();
    assert.ok(cancel !== null && cancel.y + cancel.height <= sheet.y, "on a phone it is above the sheet");
    await tab.page.setViewportSize({ width: 1440, height: 900 });
    await work.getByRole("button", { name: "Cancel" }).click();
    // Nobody answered: what was there is back without the worker.
    await work.waitFor({ state: "detached" });
    assert.equal(await tab.page.locator(".file-name").innerText(), "tides.perf.data");
    assert.deepEqual(await tab.functions(), before);
    await tab.close();
  });

  /**
   * Runs in the page before its own script: its worker reads a file called held.perf.data no further than to its beginning,
   * until something is cancelled.
   */
  const holdReading = () => {
    const hold = () => {
      const { stream } = Blob.prototype;
      let isHeld = false;
      let release;
      const cancelled = new Promise((done) => (release = done));
      addEventListener("message", ({ data }) => {
        if (data.method === "open") isHeld = data.args.parts[0].name === "held.perf.data";
        if (data.type === "cancel") release();
      });
      Blob.prototype.stream = function held() {
        if (!isHeld) return stream.call(this);
        const { readable, writable } = new TransformStream();
        cancelled.then(() => stream.call(this).pipeTo(writable)).catch(() => {}); // The reader may have gone.
        return readable;
      };
    };
    // A worker's source is a Blob of the page's.
    window.Blob = class extends window.Blob {
      constructor(blobParts = [], options = {}) {
        super(options.type === "text/javascript" ? [`(${hold})();`, ...blobParts] : blobParts, options);
      }
    };
  };

  scene("a19 cancelled in the midst of reading, the worker too has what was open", async () => {
    const tab = await opened(recording, host, { init: holdReading });
    const before = await tab.functions();
    const held = parts.path("written", "held.perf.data");
    copyFileSync(recording, held);
    await tab.drop(held);
    const work = tab.page.locator(".status-work");
    await work.getByRole("button", { name: "Cancel" }).click();
    await work.waitFor({ state: "detached" });
    assert.equal(await tab.page.locator(".file-name").innerText(), "tides.perf.data");
    assert.deepEqual(await tab.functions(), before);
    await tab.close();
  });
});

describe("numbers", () => {
  scene("a44 one of a thing is said as one, and thousands have separators", async () => {
    const { recording: crowd } = writeCrowd(parts, 1200);
    const single = parts.path("single.perf.data");
    const task = { pid: 7, tid: 7, name: "single" };
    const code = writeLibrary(parts, "single", ["alpha", "beta"]);
    writeRecording(single, code, [task], [{ task, time: 1000, cpu: 0, weight: 1000, way: [1 / 16, 1] }]);
    for (const [file, expected] of [
      [single, "1 sample"],
      [crowd, "1,200 samples"],
    ]) {
      const tab = await opened(file);
      const texts = await tab.everythingInAllViews();
      for (const view of [/Time order/, /Heat map/]) {
        await tab.view(view);
        await tab.settled();
        texts.push(...(await tab.everything()));
      }
      assert.ok(texts.some((text) => text.includes(expected)));
      // But for seconds and their parts.
      assert.deepEqual(
        texts.filter((text) => /(?<![\d,.])1 (?![nmµ]?s\b)[a-z-]+s\b|\b\d{4,} [a-z]+s\b/.test(text)),
        [],
      );
      await tab.close();
    }
  });
});
