// The WebAssembly session under Node: the page's own façade, fed from files.
import { closeSync, fstatSync, openSync, readFileSync, readSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";

const wasm = process.env.PERFTAB_WASM ?? fileURLToPath(new URL("../../target/wasm-bound/perftab_web_bg.wasm", import.meta.url));
// Its JavaScript is of one build with it, and lies beside it.
export const facade = await import(new URL("perftab_web.js", pathToFileURL(wasm)));
/** Code of sessions, and what the page loads for the worker of their images. */
export const modules = { session: readFileSync(wasm), images: readFileSync(wasm.replace("perftab_web", "perftab_images_web")) };
facade.initSync({ module: modules.session });
const reader = await import(new URL("perftab_images_web.js", pathToFileURL(wasm)));
reader.initSync({ module: modules.images });

/** A file as the façade reads it; the worker has `FileReaderSync` in this place. */
class FileSource {
  #file;

  constructor(path) {
    this.#file = openSync(path, "r");
    this.size = fstatSync(this.#file).size;
  }

  read(offset, length) {
    const bytes = new Uint8Array(length);
    let filled = 0;
    while (filled < length) {
      const read = readSync(this.#file, bytes, filled, length - filled, offset + filled);
      if (read === 0) throw new Error(`the file ends at ${offset + filled}`);
      filled += read;
    }
    return bytes;
  }

  close() {
    closeSync(this.#file);
  }
}

/** Opens a recording as the worker does; one of several files is given as their paths. */
export function open(paths, blockSize = 256 * 1024) {
  const sources = [paths].flat().map((path) => new FileSource(path));
  try {
    const opening = new facade.Opening(sources);
    for (let wanted = opening.wants(); wanted !== null; wanted = opening.wants()) {
      const { part, offset, length } = wanted;
      const available = Math.max(0, sources[part].size - offset);
      opening.push(sources[part].read(offset, Math.min(blockSize, length, available)));
    }
    return opening.finish();
  } finally {
    sources.forEach((source) => source.close());
  }
}

/** What a session says to a question. */
export function ask(session, question, args = {}) {
  const asked = new facade.Asked(question, args);
  try {
    for (;;) {
      const step = asked.step(session, 1 << 18);
      if ("answer" in step) return step.answer;
    }
  } finally {
    asked.free();
  }
}

/** What a comparison of a query with itself says. */
export function askCompared(session, query, question, args = {}) {
  const work = new facade.ComparisonWork(session, query, session, query);
  for (;;) {
    const step = work.step(session, session, 1 << 18);
    if ("answer" in step) return step.answer.answer(question, args);
  }
}

/** All rows of the functions table, those with most of their own first. */
export function functionsOf(session, query) {
  return ask(session, "functions", { query, order: { key: "self", direction: "descending" }, from: 0, to: 2 ** 31 });
}

/** Opens a link, or a text with one. */
export function openLink(text) {
  return facade.Session.openLink(text);
}

/** The images of each session: here in one place with it, but all that crosses could be posted. */
const imagesOf = new WeakMap();

function imagesFor(session) {
  const images = imagesOf.get(session) ?? new reader.Images(structuredClone(session.dsoTable()));
  imagesOf.set(session, images);
  return images;
}

function takeFindings(session) {
  const findings = imagesFor(session).takeFindings();
  if (findings !== null) session.takeFindings(structuredClone(findings));
}

/** Offers a file of this machine under a name, and names every frame. */
export function admit(session, name, path) {
  const report = offer(session, name, path);
  nameFrames(session);
  return report;
}

/** Offers a file of any kind, as the page does with what is dropped on it. */
export function offer(session, name, path) {
  const offered = new reader.Offer(name, new FileSource(path));
  for (;;) {
    const { report } = offered.step(imagesFor(session), 1 << 20);
    takeFindings(session);
    if (report !== null) {
      offered.free();
      return report;
    }
  }
}

/** Insists on a file for a DSO. */
export function force(session, dso, name, path) {
  const { forced, outcome } = imagesFor(session).insist(dso, session.forceable(dso), name, new FileSource(path));
  takeFindings(session);
  return outcome ?? session.takeForced(dso, structuredClone(forced));
}

/** `say` may change what is said of a slice. */
export function nameFrames(session, say = (answer) => answer) {
  for (let asked = session.askNames(10_000); asked !== null; asked = session.askNames(10_000)) {
    session.takeNames(say(structuredClone(imagesFor(session).name(structuredClone(asked)))));
  }
  session.showNames();
}
