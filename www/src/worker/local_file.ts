// A file of the machine that `perftab view` runs on, read piece by piece where it is.

import type { Source } from "../generated/perftab_web.js";
import type { LocalFile } from "./images_protocol.ts";
import type { Slices } from "./slices.ts";
import type { Blocks } from "./sources.ts";
import { askForRange, BlobSource, BlockSource, bytesOf } from "./sources.ts";

/** A request costs some milliseconds, whatever comes. Most libraries are a block or two. */
const LARGE: Blocks = { bytes: 256 * 1024, kept: 4 };

/** Bytes of the largest file that the browser hashes. */
const HASHED_WHOLE = 300e6;

/**
 * null if the machine has no such file. It is asked at once: an answer that is awaited waits for what else the worker does,
 * 40 ms and more for each of a hundred files.
 */
export function findLocal(url: string): LocalFile | null {
  const reply = askForRange(url, 0, LARGE.bytes);
  if (reply.status === 404) {
    return null;
  }
  const size = /^bytes 0-\d+\/(\d+)$/.exec(reply.getResponseHeader("Content-Range") ?? "")?.[1];
  const state = reply.getResponseHeader("ETag");
  if (reply.status !== 206 || size === undefined || state === null) {
    throw new Error(`perftab view answered ${reply.status} to a range`);
  }
  return { url, size: Number(size), state, start: bytesOf(reply), sha256: undefined };
}

/**
 * Has the browser hash it: three times as fast as WebAssembly (205 MB in 0.35 s, 1.1 s there), and beside what else the
 * worker does. It takes the file as a whole, so large ones are left to WebAssembly, as is everything where the page came over
 * plain HTTP from another machine.
 */
export async function hashLocal(file: LocalFile, slices: Slices): Promise<void> {
  if (file.size > HASHED_WHOLE || !isSecureContext) {
    return;
  }
  const headers = { Range: `bytes=0-${file.size - 1}`, "If-Match": file.state };
  const read = async (): Promise<void> => {
    const reply = await fetch(file.url, { headers, signal: slices.signal });
    const bytes = await reply.arrayBuffer();
    if (reply.status === 206 && bytes.byteLength === file.size) {
      file.sha256 = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    }
  };
  try {
    await slices.wait(read(), { stage: "offering", done: 0, total: file.size });
  } catch {
    // Whatever failed fails again, or does not, for whoever reads the file for its hash.
    slices.check();
  }
}

/** Bytes for images to read, of a file wherever it is. */
export function sourceOf(bytes: Blob | LocalFile): Source {
  return bytes instanceof Blob ? new BlobSource(bytes) : new LocalSource(bytes);
}

class LocalSource extends BlockSource {
  readonly #file: LocalFile;

  constructor(file: LocalFile) {
    super(file.size, LARGE);
    this.#file = file;
  }

  override get sha256(): Uint8Array | undefined {
    return this.#file.sha256;
  }

  protected load(from: number, to: number): Uint8Array {
    const { url, state, start } = this.#file;
    if (to <= start.length) {
      return start.slice(from, to);
    }
    const reply = askForRange(url, from, to, { "If-Match": state });
    if (reply.status !== 206) {
      throw new Error(reply.status === 412 ? "it changed while it was read" : `perftab view answered ${reply.status} to a range`);
    }
    return bytesOf(reply);
  }
}
