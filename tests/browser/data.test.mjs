// Memory accesses in the functions view: by object, and by what the hardware says of them. Page faults say where data lies on
// any machine; what loads cost only special hardware tells, so those are of a recording that is synthesised.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe } from "node:test";
import { keepPicture } from "./pictures.mjs";
import { Parts, isInstalled, run } from "./recording.mjs";
import { afterScenes, beforeScenes, scene } from "./scene.mjs";
import { Tab, axe } from "./tab.mjs";

const loads = fileURLToPath(new URL("../fixtures/synth-accesses.perf.data", import.meta.url));
const parts = new Parts();
let host;

beforeScenes(async () => {
  host = await parts.host();
});

afterScenes(() => parts.end());

const plain = (text) => text.replaceAll(/[\u202f\u2009\s]+/g, " ").trim();

/** The cells of each row, once there are any that pass. */
async function rows(page, first = /./) {
  const all = page.locator(".data .row:not(.loading)");
  await all.first().filter({ hasText: first }).waitFor();
  const cells = await all.evaluateAll((rows) =>
    rows.map((row) => [...row.querySelectorAll("[role=gridcell]")].map((cell) => cell.innerText)),
  );
  return cells.map((row) => row.map(plain));
}

async function open(recording, options = {}) {
  const tab = await Tab.open(host, options);
  await tab.drop(recording);
  await tab.opened();
  await tab.view(/Functions/);
  return tab;
}

const dataButton = (page) => page.getByRole("button", { name: "Data", exact: true });

describe("data", () => {
  scene("a26 accesses are told apart by object and by what the hardware says, as in perftab report", async () => {
    const tab = await open(loads);
    const { page } = tab;
    await dataButton(page).click();
    const byObject = await rows(page, /table\.bin/);
    // 6 × 310 of 2,900 in all, and so on.
    assert.deepEqual(byObject.slice(0, 4), [
      ["64.1 %", "6", "310", "table.bin", ""],
      ["16.6 %", "40", "12.0", "[heap]", ""],
      ["12.4 %", "2", "180", "0x110018", "server"],
      ["4.1 %", "3", "40.0", "[kernel memory]", ""],
    ]);
    assert.match(plain(await page.locator(".table-foot").innerText()), /^7 objects, 66 accesses$/);

    const keys = { level: "mem", snoop: "snoop", tlb: "tlb", locked: "locked" };
    for (const [by, key] of Object.entries(keys)) {
      const report = parts.json("report", "--mem-mode", "--sort", key, "--json", loads);
      const expected = report.rows.map((row) => [row[key], row.self_samples, row.self / report.cost]);
      await page.getByRole("combobox", { name: "By" }).selectOption(by);
      const [heaviest] = expected[0];
      const shown = await rows(page, new RegExp(heaviest.replaceAll("/", ".")));
      assert.deepEqual(
        shown.map(([share, accesses, , name]) => [name, accesses, share]),
        expected.map(([name, accesses, share]) => [name, String(accesses), `${(share * 100).toFixed(1)} %`]),
        by,
      );
    }
    await tab.close();
  });

  scene(
    "a26 the table sorts, goes by keys, and follows filters; Back undoes what was chosen",
    async () => {
      const tab = await open(loads);
      const { page } = tab;
      await dataButton(page).click();
      await rows(page, /table\.bin/);
      const header = (name) => page.getByRole("columnheader", { name });
      const names = async (first) => (await rows(page, first)).map((row) => row[3]);
      await page.getByRole("button", { name: "Accesses", exact: true }).click();
      assert.equal((await names(/heap/))[0], "[heap]");
      assert.equal(await header("Accesses").getAttribute("aria-sort"), "descending");
      await page.getByRole("button", { name: "Mean", exact: true }).click();
      assert.deepEqual((await names(/table/)).slice(0, 2), ["table.bin", "0x110018"]);

      await page.getByRole("grid", { name: "Data" }).focus();
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("ArrowDown");
      const selected = page.locator('.data .row[aria-selected="true"]');
      await selected.filter({ hasText: "0x110018" }).waitFor();
      await page.keyboard.press("Escape");
      await selected.waitFor({ state: "detached" });

      await page.getByRole("combobox", { name: "By" }).selectOption("level");
      await rows(page, /RAM/);
      await page.goBack();
      await rows(page, /table\.bin/);
      await tab.close();

      // An address says what is shown, filters too.
      const filtered = await Tab.open(`${host}#s2&view=functions&by=object&processes=11`);
      await filtered.drop(loads);
      await filtered.page.getByText("Nothing is left after 1 filter.").waitFor();
      assert.equal(await filtered.page.locator(".data .row").count(), 0);
      await filtered.close();
    },
    { tier: "all" },
  );

  scene("a26 objects are named by the file that ran, once it is given, and never by another build", async () => {
    if (!isInstalled("perf")) return console.log("SKIPPED: data: perf is not installed");
    const source = parts.path("shelves.c");
    const text = `
      static char wide[80 * 4096] = {1}, narrow[20 * 4096] = {1};
      int main(void) {
        for (int at = 0; at < 80; at++) wide[at * 4096] = 1;
        for (int at = 0; at < 20; at++) narrow[at * 4096] = 1;
        return wide[5] + narrow[5];
      }`;
    writeFileSync(source, text);
    const compile = (name, ...more) => {
      const program = parts.path(name, "shelves");
      run("gcc", ["-g", "-O1", "-fno-toplevel-reorder", ...more, "-Wl,--build-id=sha1", "-o", program, source]);
      return program;
    };
    const program = compile("ran");
    const other = compile("other", "-DOTHER", "-O0");
    const recording = parts.perf("faults.perf.data", ["-e", "page-faults:u", "-c", "1", "-d", "--buildid-mmap"], [program]);
    const tab = await open(recording);
    const { page } = tab;
    await dataButton(page).click();
    await page.locator(".data .row:not(.loading)").filter({ hasText: "shelves" }).first().waitFor();
    const named = async () => (await rows(page)).filter(([, , , name]) => /wide|narrow/.test(name));
    await tab.drop(other);
    await tab.settled();
    assert.deepEqual(await named(), []);
    await tab.drop(program);
    await tab.status("shelves", "matched");
    const wide = page.locator(".data .row").filter({ hasText: "wide" });
    await wide.waitFor();
    // Their first and last pages are those of others, too.
    const accesses = Object.fromEntries(
      (await named()).map(([, count, mean, name, dso]) => [`${name} ${dso} ${mean}`, Number(count)]),
    );
    assert.deepEqual(Object.keys(accesses), ["wide shelves –", "narrow shelves –"]);
    const [ofWide, ofNarrow] = Object.values(accesses);
    assert.ok(Math.abs(ofWide - 80) <= 1 && Math.abs(ofNarrow - 20) <= 1, JSON.stringify(accesses));
    await tab.close();
  });

  scene(
    "a26 files that only data is in are fetched, too",
    async () => {
      if (!isInstalled("perf")) return console.log("SKIPPED: data: perf is not installed");
      const [pages, main] = [parts.path("pages.c"), parts.path("reader.c")];
      writeFileSync(pages, "char wide[80 * 4096] = {1}; int unused(void) { return wide[7]; }");
      writeFileSync(
        main,
        `extern char wide[80 * 4096];
        int main(void) {
          for (int at = 0; at < 80; at++) wide[at * 4096] = 1;
          return wide[5];
        }`,
      );
      const [library, program] = [parts.path("pages", "libpages.so"), parts.path("reader", "reader")];
      const linked = ["-g", "-O1", "-Wl,--build-id=sha1"];
      // Nothing runs in it.
      run("gcc", [...linked, "-shared", "-fPIC", "-nostdlib", "-o", library, pages]);
      // Its address is asked for, so that the library keeps its data.
      run("gcc", [...linked, "-fPIE", "-mno-direct-extern-access", "-o", program, main, library]);
      const recording = parts.perf("library.perf.data", ["-e", "page-faults:u", "-c", "1", "-d", "--buildid-mmap"], [program]);
      const tab = await Tab.open(await parts.view(recording));
      const { page } = tab;
      await tab.opened();
      await tab.view(/Functions/);
      await tab.settled();
      assert.equal(await page.locator(".dso-row", { hasText: "libpages.so" }).count(), 0);
      await dataButton(page).click();
      await page.locator(".data .row").filter({ hasText: "wide" }).filter({ hasText: "libpages.so" }).waitFor();
      await tab.status("libpages.so", "matched");
      await tab.close();
    },
    { tier: "all" },
  );

  scene(
    "a26 nothing of it is offered where there is none: in other recordings, in links",
    async () => {
      const tab = await open(loads);
      const { page } = tab;
      await dataButton(page).click();
      await rows(page, /table\.bin/);
      const { payload } = await tab.ask("share", { budget: 4000, base: "", options: { characters: 4000 } });
      await page.goto(`${host}?again#${payload}&s2&view=functions&by=object`);
      await page.locator(".functions .row:not(.loading)").first().waitFor();
      assert.equal(await dataButton(page).count(), 0);
      await page.getByRole("columnheader", { name: "Function" }).waitFor();
      await tab.close();
    },
    { tier: "all" },
  );

  for (const colorScheme of ["light", "dark"]) {
    scene(
      `a26 the table at all widths, ${colorScheme}`,
      async () => {
        const tab = await open(loads, { colorScheme, initPath: axe });
        const { page } = tab;
        await dataButton(page).click();
        await rows(page, /table\.bin/);
        await page.locator(".data .row").first().click();
        assert.deepEqual(await tab.findings(), []);
        for (const width of [1440, 1280, 420]) {
          await page.setViewportSize({ width, height: 900 });
          await tab.settled();
          await keepPicture(page, `a26-data-${colorScheme}-${width}`);
        }
        await tab.close();
      },
      { tier: "all" },
    );
  }
});
