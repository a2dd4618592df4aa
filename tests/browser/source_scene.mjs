// What scenes of source and assembly share: a program whose debug information has the MD5 of its source, and its recording.
import assert from "node:assert/strict";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { createHash } from "node:crypto";
import { Parts, run, tidesSource } from "./recording.mjs";
import { QUERY, Tab } from "./tab.mjs";

export const parts = new Parts();
export let host;
export let program;
export let recording;
/** A copy of the source, and one that was edited. */
export let source;
export let edited;

/** Compiles it so that its debug information has the MD5 of its source: gcc notes none, and binutils 2.40 writes it backwards. */
function compileWithMd5() {
  const text = readFileSync(source);
  const md5 = createHash("md5").update(text).digest();
  const mark = Buffer.from("MD5 OF A SOURCE.");
  const [assembly, program] = [parts.path("built", "tides.s"), parts.path("built", "tides")];
  run("gcc", ["-S", "-O2", "-g", "-gdwarf-5", "-fno-omit-frame-pointer", "-o", assembly, source]);
  // All files of a unit have one, or none.
  const withMd5 = (_, line, name) => {
    const md5 = name === "tides.c" ? mark : Buffer.from("MD5 OF A HEADER.");
    return `${line} md5 0x${md5.toString("hex")}`;
  };
  writeFileSync(assembly, readFileSync(assembly, "utf8").replaceAll(/^(\t\.file \d+ .*?([^/"]+)")$/gm, withMd5));
  run("gcc", ["-Wl,--build-id=0x51de51de51de51de51de51de51de51de51de51de", "-o", program, assembly]);
  const bytes = readFileSync(program);
  let found = 0;
  for (const [like, sum] of [
    [mark, md5],
    [Buffer.from(mark).reverse(), md5],
  ]) {
    for (let at = bytes.indexOf(like); at !== -1; at = bytes.indexOf(like, at + 1)) {
      sum.copy(bytes, at);
      found += 1;
    }
  }
  assert.ok(found > 0, "the assembler notes an MD5");
  writeFileSync(program, bytes, { mode: 0o755 });
  return program;
}

/** Makes all of it; for `beforeScenes`. */
export async function prepare() {
  source = parts.path("src", "sea", "tides.c");
  copyFileSync(tidesSource, source);
  edited = parts.path("edited", "sea", "tides.c");
  writeFileSync(edited, readFileSync(source, "utf8").replace("droplets; i++", "droplets ; i++"));
  program = compileWithMd5();
  recording = parts.record("tides.perf.data", ["-F", "4999"], [program, "30"]);
  host = await parts.host();
}

/** A page that shows the recording. */
export async function open({ files = [program], fragment = "#s2&view=source", ...options } = {}) {
  const tab = await Tab.open(`${host}${fragment}`, options);
  await tab.drop(recording, ...files);
  await tab.page.locator(".file-name", { hasText: "tides.perf.data" }).waitFor();
  if (files.length > 0) await tab.status("tides", "matched");
  await tab.settled();
  return tab;
}

export const assembly = (page) => page.getByRole("grid", { name: /^Instructions of/ });
export const lines = (page) => page.getByRole("grid", { name: /^Source of/ });
export const list = (page) => page.getByRole("grid", { name: "Functions by self" });

/** Selects a function in the list. */
export async function choose({ page }, name) {
  await list(page).locator(".row:not(.loading)", { hasText: name }).first().click();
  await page.getByRole("grid", { name: `Instructions of ${name}` }).waitFor();
}

/** The line that is chosen is that of a file. */
export async function isOf(page, path) {
  const selected = lines(page).locator(".row.selected");
  const line = Number(await selected.locator(".line").innerText());
  assert.equal((await selected.locator(".code").innerText()).trim(), readFileSync(path, "utf8").split("\n")[line - 1].trim());
}

/** What the worker says of the code of a function. */
export async function listed(tab, name) {
  const dso = (await tab.ask("dsos")).find((each) => each.name === "tides");
  const reference = { dso: { path: dso.path, buildId: dso.build_id }, name, address: null };
  const listing = await tab.page.evaluate(() => document.getElementById("listing").textContent.replace(/\n\/\/end$/, ""));
  return (
    await tab.ask("listCode", { query: { ...QUERY, inlines: "merged" }, function: reference, syntax: "intel", listing })
  )[0];
}

export const textAt = ({ texts, ends }, at) => Buffer.from(texts.slice(at === 0 ? 0 : ends[at - 1], ends[at])).toString();
