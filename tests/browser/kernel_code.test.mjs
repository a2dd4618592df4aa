// Instructions of a kernel: those of its file, and those that ran where there is a copy of its memory.
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Parts, html, run } from "./recording.mjs";
import { afterScenes, beforeScenes, scene } from "./scene.mjs";
import { QUERY, Tab } from "./tab.mjs";

const parts = new Parts();
/** A sample 0x40 bytes behind the start of its kernel, which was recorded with this build-id. */
const recording = fileURLToPath(new URL("../fixtures/synth-file.perf.data", import.meta.url));
const ID = "cc".repeat(20);
/** It was linked elsewhere, and lay elsewhere again when its memory was copied. */
const LINKED = "0xffffffff81200000";
const COPIED = 0xffff_ffff_9a00_0000n;
const PAGE = 4096;
const isHere = process.arch === "x64";

let vmlinux;
let memory;

beforeScenes(() => {
  const source = parts.path("kernel.s");
  const code =
    ".globl _text, _stext, _etext\n_text:\n_stext: .skip 48, 0x90\n.type of_kernel,@function\nof_kernel: .skip 64, 0x90";
  writeFileSync(source, `.text\n${code}\n.size of_kernel,64\n.skip ${PAGE}, 0x90\n_etext:\n`);
  vmlinux = parts.path("vmlinux");
  if (isHere) {
    run("gcc", ["-c", "-o", parts.path("kernel.o"), source]);
    run("ld", ["-e", "_text", `-Ttext=${LINKED}`, `--build-id=0x${ID}`, "-o", vmlinux, parts.path("kernel.o")]);
  }
  // As `perftab buildid kcore` keeps it.
  memory = parts.path("home-of-view", `.debug/[kernel.kcore]/${ID}/2026112800000000/kcore`);
  mkdirSync(dirname(memory), { recursive: true });
  writeFileSync(memory, copyOfMemory(2 * PAGE));
});

afterScenes(() => parts.end());

/** An ELF core file with the build-id, of memory that has nothing but 0xcc. */
function copyOfMemory(length) {
  const bytes = Buffer.alloc(PAGE + length, 0xcc).fill(0, 0, PAGE);
  bytes.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]);
  [4, 62].forEach((half, at) => bytes.writeUInt16LE(half, 16 + 2 * at));
  bytes.writeBigUInt64LE(64n, 32);
  [64, 56, 2].forEach((half, at) => bytes.writeUInt16LE(half, 52 + 2 * at));
  const note = Buffer.concat([Buffer.from([4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0]), Buffer.from("GNU\0"), Buffer.from(ID, "hex")]);
  const header = (at, kind, offset, address, size) => {
    bytes.writeUInt32LE(kind, at);
    bytes.writeUInt32LE(5, at + 4);
    [BigInt(offset), address, 0n, BigInt(size), BigInt(size), 4n].forEach((word, n) =>
      bytes.writeBigUInt64LE(word, at + 8 + 8 * n),
    );
  };
  header(64, 4, 512, 0n, note.length);
  header(120, 1, PAGE, COPIED, length);
  note.copy(bytes, 512);
  return bytes;
}

/** The texts of its instructions, each once, and where its code is from. */
async function instructions(tab) {
  const listing = await tab.page.evaluate(() => document.getElementById("listing").textContent.replace(/\n\/\/end$/, ""));
  const kernel = { path: "[kernel.kallsyms]", buildId: ID };
  const of = { dso: kernel, name: "of_kernel", address: null };
  const query = { ...QUERY, inlines: "merged" };
  const listed = await tab.ask("listCode", { query, function: of, syntax: "intel", listing });
  return listed.flatMap(({ pieces }) =>
    pieces.map(({ from, startInFile, starts, instructions: { texts, ends } }) => {
      const text = (end, at) => Buffer.from(texts.slice(at === 0 ? 0 : ends[at - 1], end)).toString();
      return { from, startInFile: BigInt(startInFile), count: starts.length, texts: [...new Set(Array.from(ends, text))] };
    }),
  );
}

const startInFile = BigInt(LINKED) + 48n;

scene("instructions of a kernel are those of its vmlinux, and of a copy of its memory once that is dropped", async () => {
  if (!isHere) return;
  const tab = await Tab.open(pathToFileURL(html).href, { browser: "own", offline: true });
  await tab.drop(recording);
  await tab.opened();
  await tab.drop(vmlinux);
  await tab.status("[kernel.kallsyms]", "matched");
  await tab.settled();
  assert.deepEqual(await instructions(tab), [{ from: "file", startInFile, count: 64, texts: ["nop"] }]);
  await tab.drop(memory);
  await tab.page.getByText("Used 1 of 1 file: kcore.").first().waitFor();
  await tab.settled();
  assert.deepEqual(await instructions(tab), [{ from: "memory", startInFile, count: 64, texts: ["int3"] }]);
  await tab.close();
});

scene("perftab view has the copy of a kernel's memory that perftab keeps", async () => {
  if (!isHere) return;
  const tab = await Tab.open(await parts.view("--image", vmlinux, recording), { browser: "own" });
  await tab.opened();
  await tab.status("[kernel.kallsyms]", "matched");
  await tab.settled();
  assert.deepEqual(await instructions(tab), [{ from: "memory", startInFile, count: 64, texts: ["int3"] }]);
  await tab.close();
});
