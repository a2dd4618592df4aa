// What the page does with whatever is dropped on it, packed or not, and what it explains of each DSO: what is wanted, what
// was given, where it can be had, what was tried.
import assert from "node:assert/strict";
import { chmodSync, copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { describe } from "node:test";
import { Parts, buildId, isInstalled, run } from "./recording.mjs";
import { afterScenes, beforeScenes, lazily, scene } from "./scene.mjs";
import { Tab } from "./tab.mjs";

const parts = new Parts();
const files = {};
const ids = {};
let host;
let recording;
/** One path, which was another file in the middle of the recording. */
let replaced;

beforeScenes(async () => {
  files.right = parts.compile(["recorded", "tides"]);
  files.rebuilt = parts.compile(["rebuilt", "tides"], "-O2", "-DNEAP");
  ids.right = buildId(files.right);
  ids.rebuilt = buildId(files.rebuilt);
  recording = parts.record("tides.perf.data", ["-F", "999"], [files.right, "20"]);

  const path = parts.path("replaced", "tides");
  copyFileSync(files.right, path);
  chmodSync(path, 0o755);
  const swap = `${path} 12; cp ${files.rebuilt} ${path}.new; mv ${path}.new ${path}; ${path} 12`;
  replaced = parts.record("replaced.perf.data", ["-F", "999"], ["sh", "-c", swap]);
  host = await parts.host();
});

afterScenes(() => parts.end());

const isAddress = ({ name }) => /0x[0-9a-f]+/.test(name);

async function opened(file) {
  const tab = await Tab.open(host);
  await tab.drop(file);
  await tab.opened();
  return tab;
}

/** The words of the toast about the last drop. */
async function toast(tab, pattern) {
  const found = tab.page.locator(".toast", { hasText: pattern });
  await found.waitFor();
  return found.locator("span").first().innerText();
}

describe("b30 another build is refused", () => {
  scene("a04 b30a with both ids in full, the time of the file, and the ways to the right one", async () => {
    const tab = await opened(recording);
    const { page } = tab;
    await tab.drop(files.rebuilt);
    await (await tab.status("tides", "mismatched")).getByRole("button", { name: "Why? tides" }).click();
    const pane = page.getByRole("complementary", { name: "tides is a different build" });
    const shown = await pane.locator(".id-groups").allInnerTexts();
    assert.deepEqual(
      shown.map((text) => text.replace(/\s/g, "")),
      [ids.right, ids.rebuilt],
    );
    await pane.getByText("by mmap event").waitFor();
    await pane.getByText(/ kB, modified /).waitFor();
    const ways = await pane.locator(".ways li strong:first-child").allInnerTexts();
    assert.equal(ways[0], "Fetch by build-id");
    assert.ok(ways.includes(`Copy the file from ${hostname()}, if it is still there`));
    assert.ok(ways.includes("Add another file"));
    const commands = await pane.locator(".command").allInnerTexts();
    assert.ok(commands.includes(`scp ${hostname()}:${files.right} .`), commands.join("\n"));
    assert.ok(commands.includes("perftab buildid archive perf.data"), commands.join("\n"));
    await pane.getByText("perftab buildid verify tides.perf.data").waitFor();
    await page.getByRole("region", { name: "Tried" }).getByText("another build").waitFor();
    await tab.pictures("a04-explained");
    await tab.pick(() => pane.getByRole("button", { name: "Add files…" }).click(), files.right);
    await page.getByRole("complementary", { name: "tides matches" }).waitFor();
    await tab.close();
  });
});

describe("b04 one path, two builds", () => {
  scene("a06 b04a are two rows, each named by its own file", async () => {
    const tab = await opened(replaced);
    const { page } = tab;
    const rows = page.locator(".dso-row", { has: page.getByRole("button", { name: "tides", exact: true }) });
    assert.equal(await rows.count(), 2);
    const shown = await rows.locator("code").evaluateAll((codes) => codes.map((code) => code.title));
    assert.deepEqual(new Set(shown), new Set([ids.right, ids.rebuilt]));
    const statuses = () =>
      rows.evaluateAll((rows) => Object.fromEntries(rows.map((row) => [row.querySelector("code").title, row.dataset.status])));

    await tab.drop(files.rebuilt);
    await page.locator(".dso-row[data-status=matched]", { hasText: "tides" }).waitFor();
    assert.deepEqual(await statuses(), { [ids.right]: "missing", [ids.rebuilt]: "matched" });
    const newer = (await tab.functions()).filter(({ dso }) => dso === "tides");
    assert.ok(newer.some(({ name }) => name === "rolling_sea"));
    assert.ok(newer.some(isAddress), "the older build stays as addresses");
    await tab.pictures("a06-two-builds", { sheet: "full" });

    await tab.drop(files.right);
    await page.locator(".dso-row[data-status=missing]", { hasText: "tides" }).waitFor({ state: "detached" });
    assert.deepEqual(await statuses(), { [ids.right]: "matched", [ids.rebuilt]: "matched" });
    const both = (await tab.functions()).filter(({ dso, name }) => dso === "tides" && name === "rolling_sea");
    assert.equal(both.length, 2, "a function of each build");
    await tab.pictures("a06-both-named", { sheet: "full" });
    await tab.close();
  });
});

/** How to make an archive of the files in a folder. */
const PACKERS = {
  "tar.gz": (folder, out) => run("tar", ["-czf", out, "-C", folder, "."]),
  "tar.xz": (folder, out) => run("tar", ["-cJf", out, "-C", folder, "."]),
  "tar.zst": (folder, out) => run("tar", ["--zstd", "-cf", out, "-C", folder, "."]),
  "tar.bz2": (folder, out) => run("tar", ["-cjf", out, "-C", folder, "."]),
  zip: (folder, out) => run("python3", ["-m", "zipfile", "-c", out, `${folder}/usr`, `${folder}/README`]),
};
const NEEDS = { "tar.gz": "gzip", "tar.xz": "xz", "tar.zst": "zstd", "tar.bz2": "bzip2", zip: "python3" };

describe("b45 archives are opened by drag and drop", () => {
  const tree = lazily(() => {
    writeFileSync(parts.path("tree", "README"), "Notes about the tides, and no binary.\n");
    copyFileSync(files.right, parts.path("tree", "usr", "bin", "any-name"));
    copyFileSync("/bin/true", parts.path("tree", "usr", "bin", "true"));
    return parts.path("tree");
  });

  for (const [ending, pack] of Object.entries(PACKERS)) {
    scene(
      `b45a ${ending}: the members are counted, and the right one names`,
      async (t) => {
        if (!isInstalled(NEEDS[ending])) {
          console.log(`SKIPPED: a binary in a ${ending}: ${NEEDS[ending]} is not installed`);
          return t.skip();
        }
        const archive = parts.path("archives", `tree.${ending}`);
        pack(tree(), archive);
        const tab = await opened(recording);
        await tab.drop(archive);
        await tab.status("tides", "matched");
        assert.match(await toast(tab, "Used"), /^Used 1 of 3 files: .*any-name/);
        assert.ok((await tab.functions()).some(({ name }) => name === "rolling_sea"));
        await tab.close();
      },
      { tier: ending === "tar.gz" ? "fast" : "all" },
    );
  }

  scene(
    "b43a a packed binary that comes first waits for its profile",
    async () => {
      const packed = parts.pack("xz", files.right, "xz");
      const tab = await Tab.open(host);
      await tab.drop(packed);
      await tab.page.getByText(/^tides\.xz may contain binaries\. Add a perf\.data too/).waitFor();
      await tab.drop(recording);
      await tab.opened();
      await tab.status("tides", "matched");
      await tab.close();
    },
    { tier: "all" },
  );

  scene(
    "b45b of an archive with another build the reason is listed, and no name comes from it",
    async () => {
      const other = dirname(parts.path("other", "README"));
      mkdirSync(other, { recursive: true });
      copyFileSync(files.rebuilt, parts.path("other", "bin", "tides"));
      const archive = parts.path("archives", "other.tar");
      run("tar", ["-cf", archive, "-C", other, "."]);
      const tab = await opened(recording);
      await tab.drop(archive);
      await tab.status("tides", "mismatched");
      await tab.page.locator(".toast").getByRole("button", { name: "Details" }).click();
      await tab.page
        .getByRole("dialog", { name: "Not used" })
        .getByText(`Another build: the file has ${ids.rebuilt}, the profile has ${ids.right}.`)
        .waitFor();
      await tab.picture("b45-not-used");
      await tab.page.keyboard.press("Escape");
      assert.ok((await tab.functions()).filter(({ dso }) => dso === "tides").every(isAddress));
      await tab.close();
    },
    { tier: "all" },
  );
});

describe("b45 what `perftab buildid archive` packs", () => {
  scene(
    "b45c names what the recording hit",
    async () => {
      const archive = parts.path("archives", "binaries.tar.gz");
      parts.perftab("buildid", "archive", recording, "-o", archive);
      const tab = await opened(recording);
      await tab.drop(archive);
      await tab.status("tides", "matched");
      await tab.status("libc.so.6", "matched");
      assert.match(await toast(tab, "Used"), /^Used \d of \d+ files: /);
      await tab.picture("b45-archive");
      await tab.close();
    },
    { tier: "all" },
  );
});

describe("b29 lists of symbols", () => {
  scene("b29b of a kernel that does not say which it is are refused, with the reason", async () => {
    const copy = parts.path("maps", "kallsyms");
    writeFileSync(copy, "ffffffff81000000 T _stext\nffffffff81000000 T _text\nffffffff81001000 T tide_of_the_kernel\n");
    const tab = await opened(recording);
    await tab.drop(copy);
    await tab.page.locator(".toast").getByRole("button", { name: "Details" }).click();
    const reason = await tab.page.getByRole("dialog", { name: "Not used" }).locator("li span").innerText();
    assert.match(reason, /kallsyms/i);
    await tab.picture("b29-kallsyms");
    assert.ok(!(await tab.functions()).some(({ name }) => name === "tide_of_the_kernel"));
    await tab.close();
  });

  scene(
    "b29a of a JIT compiler are refused, with the reason",
    async () => {
      const map = parts.path("maps", "perf-4121.map");
      writeFileSync(map, "7f00a000 1c0 LazyCompile:*render\n7f00a200 80 Builtin:call\n");
      const tab = await opened(recording);
      await tab.drop(map);
      await tab.page.locator(".toast").getByRole("button", { name: "Details" }).click();
      await tab.page
        .getByRole("dialog", { name: "Not used" })
        .getByText(/it is of process 4121, of which no code/i)
        .waitFor();
      assert.ok(!(await tab.functions()).some(({ name }) => name.includes("render")));
      await tab.close();
    },
    { tier: "all" },
  );
});
