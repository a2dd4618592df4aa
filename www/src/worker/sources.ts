// Bytes for the session to read at any offset, at once: WebAssembly cannot wait, and a worker may read synchronously.

import type { Source } from "../generated/perftab_web.js";

/** Smaller reads take the whole block that they lie in: headers are read field by field. Of a file that is no image,
 * and a folder has thousands of them, no more than one block is read. */
const BLOCK = 16 * 1024;
const KEPT_BLOCKS = 64;

/** Keeps the last blocks, so that many small reads become one. */
abstract class BlockSource implements Source {
  readonly size: number;
  readonly #blocks = new Map<number, Uint8Array>();

  constructor(size: number) {
    this.size = size;
  }

  /** Exactly the bytes from `from` to before `to`, or an exception. */
  protected abstract load(from: number, to: number): Uint8Array;

  read(offset: number, length: number): Uint8Array {
    const first = Math.floor(offset / BLOCK);
    if (length > BLOCK || Math.floor((offset + length - 1) / BLOCK) !== first) {
      return this.load(offset, offset + length);
    }
    const block = this.#blocks.get(first) ?? this.load(first * BLOCK, Math.min(this.size, (first + 1) * BLOCK));
    // The map keeps the order of insertion: the first is the one that was used longest ago.
    this.#blocks.delete(first);
    this.#blocks.set(first, block);
    if (this.#blocks.size > KEPT_BLOCKS) {
      this.#blocks.delete(this.#blocks.keys().next().value ?? first);
    }
    const start = offset - first * BLOCK;
    return block.subarray(start, start + length);
  }
}

/** A file, or what was fetched. */
export class BlobSource extends BlockSource {
  readonly #blob: Blob;
  readonly #reader = new FileReaderSync();

  constructor(blob: Blob) {
    super(blob.size);
    this.#blob = blob;
  }

  protected load(from: number, to: number): Uint8Array {
    return new Uint8Array(this.#reader.readAsArrayBuffer(this.#blob.slice(from, to)));
  }
}

/** A file on a server that answers ranges, as `perftab view` does. */
export class UrlSource extends BlockSource {
  readonly #url: string;
  /** The entity tag of what is wanted, if all of it must be of one state of the file. */
  readonly #state: string | null;

  constructor(url: string, size: number, state: string | null = null) {
    super(size);
    this.#url = url;
    this.#state = state;
  }

  protected load(from: number, to: number): Uint8Array {
    const request = new XMLHttpRequest();
    request.open("GET", this.#url, false);
    request.responseType = "arraybuffer";
    request.setRequestHeader("Range", `bytes=${from}-${to - 1}`);
    if (this.#state !== null) {
      request.setRequestHeader("If-Match", this.#state);
    }
    request.send();
    if (request.status === 412) {
      throw new Error("it changed while it was read");
    }
    if (request.status !== 206) {
      throw new Error(`the server answered ${request.status} to a range`);
    }
    return new Uint8Array(request.response as ArrayBuffer);
  }
}
