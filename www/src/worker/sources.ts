// Bytes for the session to read at any offset, at once: WebAssembly cannot wait, and a worker may read synchronously.

import type { Source } from "../generated/perftab_web.js";

/** Smaller reads take the whole block that they lie in: headers are read field by field. */
export interface Blocks {
  bytes: number;
  kept: number;
}

/** Of a file that is no image, and a folder has thousands of them, no more than one block is read. */
const SMALL: Blocks = { bytes: 16 * 1024, kept: 64 };

/** Each is a request, which takes some milliseconds whatever is asked for: the ends of a recording are two. */
const SERVED: Blocks = { bytes: 256 * 1024, kept: 4 };

/** Keeps the last blocks, so that many small reads become one. */
export abstract class BlockSource implements Source {
  readonly size: number;
  readonly #blocks: Blocks;
  readonly #held = new Map<number, Uint8Array>();

  constructor(size: number, blocks: Blocks) {
    this.size = size;
    this.#blocks = blocks;
  }

  get sha256(): Uint8Array | undefined {
    return undefined;
  }

  /** Exactly the bytes from `from` to before `to`, or an exception. */
  protected abstract load(from: number, to: number): Uint8Array;

  read(offset: number, length: number): Uint8Array {
    if (length === 0) {
      return new Uint8Array();
    }
    const { bytes, kept } = this.#blocks;
    const first = Math.floor(offset / bytes);
    if (length > bytes || Math.floor((offset + length - 1) / bytes) !== first) {
      return this.load(offset, offset + length);
    }
    const block = this.#held.get(first) ?? this.load(first * bytes, Math.min(this.size, (first + 1) * bytes));
    // The map keeps the order of insertion: the first is the one that was used longest ago.
    this.#held.delete(first);
    this.#held.set(first, block);
    if (this.#held.size > kept) {
      this.#held.delete(this.#held.keys().next().value ?? first);
    }
    const start = offset - first * bytes;
    return block.subarray(start, start + length);
  }
}

/** A file, or what was fetched. */
export class BlobSource extends BlockSource {
  readonly #blob: Blob;
  readonly #reader = new FileReaderSync();

  constructor(blob: Blob) {
    super(blob.size, SMALL);
    this.#blob = blob;
  }

  protected load(from: number, to: number): Uint8Array {
    return new Uint8Array(this.#reader.readAsArrayBuffer(this.#blob.slice(from, to)));
  }
}

/** A file on a server that answers ranges, as `perftab view` does. */
export class UrlSource extends BlockSource {
  readonly #url: string;

  constructor(url: string, size: number) {
    super(size, SERVED);
    this.#url = url;
  }

  protected load(from: number, to: number): Uint8Array {
    const reply = askForRange(this.#url, from, to);
    if (reply.status !== 206) {
      throw new Error(`the server answered ${reply.status} to a range`);
    }
    return bytesOf(reply);
  }
}

/** A request for the bytes from `from` to before `to`, with its answer. */
export function askForRange(url: string, from: number, to: number, headers: Record<string, string> = {}): XMLHttpRequest {
  const request = new XMLHttpRequest();
  request.open("GET", url, false);
  request.responseType = "arraybuffer";
  request.setRequestHeader("Range", `bytes=${from}-${to - 1}`);
  for (const [name, value] of Object.entries(headers)) {
    request.setRequestHeader(name, value);
  }
  try {
    request.send();
  } catch {
    // What the browser says has the address in it, and that the token.
    throw new Error("the server did not answer");
  }
  return request;
}

export function bytesOf(reply: XMLHttpRequest): Uint8Array {
  return new Uint8Array(reply.response as ArrayBuffer);
}
