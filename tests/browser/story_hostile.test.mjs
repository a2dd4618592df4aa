// Files that are no profile, profiles that are cut or damaged, links that are cut: the page says what is, and goes on.
import assert from "node:assert/strict";
import { copyFileSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { describe } from "node:test";
import { seconds } from "./limits.mjs";
import { Parts } from "./recording.mjs";
import { afterScenes, beforeScenes, scene } from "./scene.mjs";
import { QUERY, Tab } from "./tab.mjs";

const parts = new Parts();
let recording;
let program;
let host;
let tab;

beforeScenes(async () => {
  program = parts.compile(["tides"]);
  recording = parts.record("tides.perf.data", ["-F", "999"], [program, "12"]);
  host = await parts.host();
  tab = await Tab.open(host);
});

afterScenes(async () => {
  await tab?.close();
  await parts.end();
});

const alert = () => tab.page.getByRole("alert");

/** A file of these bytes, dropped. */
async function dropped(name, bytes) {
  const file = parts.path("dropped", name);
  writeFileSync(file, bytes);
  await tab.drop(file);
}

describe("8 hostile files", () => {
  scene("8a a picture, a text and nothing are no perf.data file, and the first bytes are shown", async () => {
    const png = await tab.page.screenshot();
    await dropped("flames.png", png);
    await alert().filter({ hasText: "flames.png is not a perf.data file" }).waitFor();
    assert.match(await alert().innerText(), /89 50 4e 47/);
    await tab.pictures("8-a-picture");
    await dropped("notes.txt", "# Notes of a tide\n");
    await alert().filter({ hasText: "notes.txt is not a perf.data file" }).waitFor();
    assert.match(await alert().innerText(), /23 20 4e 6f/);
    await dropped("nothing.data", "");
    await alert().filter({ hasText: "nothing.data is not a perf.data file. It is empty." }).waitFor();
  });

  scene(
    "8b a link that is cut off says so",
    async () => {
      await dropped("whole.perf.data", readFileSync(recording));
      await tab.opened();
      const { payload } = await tab.ask("share", { budget: 65_536, base: "", parts: { folders: false, host: false } });
      for (const length of [payload.length - 1, payload.length >> 1, 20]) {
        const other = await Tab.open(`${host}#${payload.slice(0, length)}`, { offline: true });
        const words = await other.page.getByRole("alert").innerText();
        assert.match(words, /cut off/, `of ${payload.length} characters ${length} are left`);
        if (length === payload.length >> 1) await other.pictures("8-a-cut-link");
        await other.close();
      }
      const fresh = await Tab.open(host, { offline: true });
      await fresh.page.getByRole("textbox", { name: /perftab link/ }).fill("https://perftab.invalid/#p1.");
      await fresh.page.keyboard.press("Enter");
      assert.match(await fresh.page.getByRole("alert").innerText(), /cut off/);
      await fresh.close();
    },
    { tier: "all" },
  );

  scene(
    "8c a binary that comes first waits for its profile",
    async () => {
      const fresh = await Tab.open(host);
      const binary = parts.path("dropped", "first.bin");
      copyFileSync(program, binary);
      await fresh.drop(binary);
      await fresh.page.getByText(/first\.bin is a binary\. Add a perf\.data too/).waitFor();
      await fresh.picture("8-a-binary-waits");
      await fresh.drop(recording);
      await fresh.status("tides", "matched");
      assert.ok((await fresh.functions()).some(({ name }) => name === "rolling_sea"));
      const again = parts.path("dropped", "again.perf.data");
      copyFileSync(recording, again);
      await fresh.drop(again);
      await fresh.page.locator(".file-name", { hasText: "again" }).waitFor();
      await fresh.status("tides", "matched");
      assert.ok(
        (await fresh.functions()).some(({ name }) => name === "rolling_sea"),
        "what was given once serves again",
      );
      await fresh.close();
    },
    { tier: "all" },
  );

  scene("8d a picture that is dropped on an open profile is refused, and the profile stays", async () => {
    await dropped("open.perf.data", readFileSync(recording));
    await tab.opened();
    await dropped("flames.png", Buffer.from("89504e470d0a1a0a", "hex"));
    await tab.page.locator(".toast", { hasText: "flames.png (not a binary)" }).waitFor();
    await tab.page.getByRole("button", { name: "Details" }).click();
    const list = tab.page.getByRole("dialog", { name: "Not used" });
    assert.match(await list.innerText(), /Not a binary or debug file: it begins with 89 50 4e 47/);
    await tab.picture("8-not-used");
    await tab.page.keyboard.press("Escape");
    assert.equal((await tab.ledger()).tides.status, "missing");
  });

  /** Opens many variants of one file in the worker, one after the other; counts how each ends. */
  async function openAll(file, variants) {
    const input = await tab.page.evaluateHandle(() => Object.assign(document.createElement("input"), { type: "file" }));
    await input.asElement().setInputFiles(file);
    return input.evaluate(
      async (input, [variants, query]) => {
        const [whole] = input.files;
        const { ask } = window.perftabTest;
        const ended = { opened: 0, refused: 0, other: [] };
        for (const { length, seed, damage } of variants) {
          const file = new File([await changed(whole.slice(0, length), seed, damage)], "cut.perf.data");
          const reply = await within(10_000, ask("open", { parts: [file] }), { error: { kind: "hangs", message: "" } });
          if (reply.error === undefined) {
            ended.opened += 1;
            const { ok: generation } = await ask("generation", {});
            const window = { root: 0, widthPx: 1000, minPx: 0.5, search: "" };
            const order = { key: "self", direction: "descending" };
            const views = [
              ask("flameGraph", { query, window }, generation),
              ask("functions", { query, order, from: 0, to: 50 }, generation),
            ];
            for (const view of await within(10_000, Promise.all(views), [{ error: { kind: "hangs", message: "a view" } }])) {
              if (view.error !== undefined) ended.other.push({ length, seed, ...view.error });
            }
          } else if (["died", "hangs", "unknown"].includes(reply.error.kind) || reply.error.message === "") {
            ended.other.push({ length, seed, ...reply.error });
            break;
          } else {
            ended.refused += 1;
          }
        }
        return ended;

        function within(ms, promise, late) {
          return Promise.race([promise, new Promise((done) => setTimeout(done, ms, late))]);
        }

        /** Overwrites a few bytes (or all) by a generator that gives the same for the same seed. */
        async function changed(blob, seed, damage) {
          if (!damage) return blob;
          const bytes = new Uint8Array(await blob.arrayBuffer());
          let state = seed;
          const random = () => {
            state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
            return state >>> 8;
          };
          if (damage === "all") bytes.forEach((_, at) => (bytes[at] = random()));
          else for (let i = 0; i < damage; i++) bytes[random() % bytes.length] = random();
          return bytes;
        }
      },
      [variants, QUERY],
    );
  }

  scene(
    "8e a recording that is cut anywhere opens or is refused, and never hangs",
    async (t) => {
      const { size } = statSync(recording);
      const lengths = [...Array(300).keys(), ...Array.from({ length: 200 }, (_, i) => Math.floor((size * (i + 1)) / 200))];
      const { opened, refused, other } = await openAll(
        recording,
        lengths.map((length) => ({ length })),
      );
      assert.deepEqual(other, []);
      assert.equal(opened + refused, lengths.length);
      assert.ok(refused >= 100, "what is cut within its header cannot be read");
      assert.ok(opened >= 100, "what is cut behind its first records can");
      t.diagnostic(`${opened} opened, ${refused} refused`);
    },
    { tier: "all", limit: seconds(300) },
  );

  scene(
    "8f a damaged recording and random bytes open or are refused, and never hang",
    async (t) => {
      const { size: length } = statSync(recording);
      const seeds = [...Array(60).keys()].map((seed) => seed + 1);
      const variants = [
        ...seeds.map((seed) => ({ length, seed, damage: 40 })),
        ...seeds.map((seed) => ({ length: 104 + seed * 8, seed, damage: 4 })),
        ...seeds.map((seed) => ({ length: 4096, seed, damage: "all" })),
      ];
      const { opened, refused, other } = await openAll(recording, variants);
      assert.deepEqual(other, []);
      assert.equal(opened + refused, variants.length);
      t.diagnostic(`${opened} opened, ${refused} refused`);
    },
    { tier: "all", limit: seconds(300) },
  );

  scene(
    "8g after all that the page still opens a whole recording",
    async () => {
      await dropped("whole-again.perf.data", readFileSync(recording));
      await tab.page.locator(".file-name", { hasText: "whole-again" }).waitFor();
      await tab.settled();
      assert.equal((await tab.ledger()).tides.status, "missing");
    },
    { tier: "all" },
  );

  scene(
    "8h recordings that are cut, dropped one by one, leave a page that says so",
    async () => {
      const whole = readFileSync(recording);
      const fresh = await Tab.open(host);
      for (const length of [3, 60, 100]) {
        const file = parts.path("dropped", `cut-at-${length}.perf.data`);
        writeFileSync(file, whole.subarray(0, length));
        await fresh.drop(file);
        await fresh.page
          .getByRole("alert")
          .filter({ hasText: `cut-at-${length}.perf.data` })
          .waitFor();
      }
      await fresh.picture("8-cut-in-its-header");
      const half = parts.path("dropped", "half.perf.data");
      writeFileSync(half, whole.subarray(0, whole.length >> 1));
      await fresh.drop(half);
      await fresh.opened();
      assert.match(await fresh.page.locator(".banner").innerText(), /\S/);
      await fresh.pictures("8-half-a-recording");
      await fresh.close();
    },
    { tier: "all" },
  );
});
