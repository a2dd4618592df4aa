// Unwinds the stacks of a recording with the page's WebAssembly, in Node, and prints what it took, one JSON line a run:
//
//   node measure_unwinding.mjs FAÇADE_FOLDER RECORDING BINARIES RUNS
//
// BINARIES is a file with a path on each line. The time is that of all that follows when binaries have come: their tables,
// the walk, the second reading if copies were too large to keep, and what the session takes in. V8 compiles better code
// meanwhile, as in a tab.
import { closeSync, existsSync, fstatSync, openSync, readFileSync, readSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { pathToFileURL } from "node:url";

const [facade, recording, listed, runs] = process.argv.slice(2);
const [{ KeptUnwinding, Opening, Rereading }, { Images, Offer }] = await Promise.all(
  ["perftab_web", "perftab_images_web"].map(async (name) => {
    const module = await import(pathToFileURL(join(facade, `${name}.js`)));
    module.initSync({ module: readFileSync(join(facade, `${name}_bg.wasm`)) });
    return module;
  }),
);

/** As the page pushes them. */
const BLOCK = new Uint8Array(1 << 20);
/** And so many stacks at once. */
const STACKS_AT_ONCE = 1000;
/** An offer goes on for so many bytes at once. */
const OFFERED = 64 << 20;

const source = sourceOf(recording);
const paths = readFileSync(listed, "utf8").split("\n").filter(existsSync);

for (let run = 0; run < Number(runs); run++) {
  const opening = new Opening([source]);
  pump(opening);
  const { samples } = opening;
  const session = opening.finish();
  const images = new Images(session.dsoTable());
  // They are read as long as there are images of them.
  const binaries = paths.map((path) => ({ path, source: sourceOf(path) }));
  for (const { path, source: binary } of binaries) {
    const offer = new Offer(path, binary);
    while (!offer.step(images, OFFERED).report) {}
    offer.free();
  }
  session.takeFindings(images.takeFindings());
  const start = performance.now();
  for (const dso of session.unwindable()) {
    session.takeUnwindTables(dso, images.unwindTables(dso));
  }
  const kept = KeptUnwinding.of(session);
  if (kept !== undefined) {
    while (kept.step(STACKS_AT_ONCE) !== null) {}
  }
  const unwinding = kept ?? Rereading.unwinding(session, [source]);
  if (kept === undefined) {
    pump(unwinding);
  }
  unwinding.finish(session);
  const unwindMicros = (1000 * (performance.now() - start)) / samples;
  console.log(JSON.stringify({ samples, unwindMicros }));
  images.free();
  session.free();
  for (const { source: binary } of binaries) {
    binary.close();
  }
}

function pump(into) {
  for (let wanted = into.wants(); wanted !== null; wanted = into.wants()) {
    const count = readSync(source.file, BLOCK, 0, Math.min(BLOCK.length, wanted.length), wanted.offset);
    into.push(BLOCK.subarray(0, count));
  }
}

function sourceOf(path) {
  const file = openSync(path);
  const { size } = fstatSync(file);
  const read = (offset, length) => {
    const bytes = new Uint8Array(Math.max(0, Math.min(length, size - offset)));
    return bytes.subarray(0, readSync(file, bytes, 0, bytes.length, offset));
  };
  return { file, size, read, close: () => closeSync(file) };
}
