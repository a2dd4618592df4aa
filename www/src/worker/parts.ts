// The files of a recording: read at random for what comes before the records, and from wherever the session wants
// records next.

import type { Source } from "../generated/perftab_web.js";
import type { SessionFailure } from "../session/types.ts";
import { BlobSource, UrlSource } from "./sources.ts";

type Bytes = ReadableStream<Uint8Array<ArrayBuffer>>;

/** One file of a recording. */
export interface Part {
  source: Source;
  /** The bytes from `from` to before `to`. */
  stream: (from: number, to: number) => Promise<Bytes>;
}

export function partOfFile(file: File): Part {
  return { source: new BlobSource(file), stream: (from, to) => Promise.resolve(file.slice(from, to).stream()) };
}

/** A file on a server that answers ranges, as `perftab view` does. */
export function partOfUrl(url: string, size: number, signal: AbortSignal): Part {
  return {
    source: new UrlSource(url, size),
    stream: async (from, to) => {
      const headers = { Range: `bytes=${from}-${to - 1}` };
      const reply = await fetch(url, { headers, signal }).catch(unreadable);
      if (reply.status !== 206 || reply.body === null) {
        return unreadable(new Error(`the server answered ${reply.status}`));
      }
      return reply.body;
    },
  };
}

/** How a part is read: the only one as one long stream, one of many in pieces that leave no connection waiting. */
export type Pace = "stream" | "pieces";

/** Of many parts a piece each is held: of 128 no more than this times 128. */
const PIECE = 512 * 1024;

const NONE = new Uint8Array(0);

/** Reads one part on from wherever it is asked for; asked for elsewhere, it begins anew there. */
export class PartReader {
  readonly #part: Part;
  readonly #pace: Pace;
  /** Kept as long as its reader: a reader whose stream was collected never answers. */
  #stream: Bytes | null = null;
  #reader: ReadableStreamDefaultReader<Uint8Array> | null = null;
  /** Where in the part the bytes that are held begin. */
  #at = 0;
  #held: Uint8Array = NONE;

  constructor(part: Part, pace: Pace) {
    this.#part = part;
    this.#pace = pace;
  }

  /** Some bytes from `offset` on, at most `length`; none if the part has ended. */
  async read(offset: number, length: number): Promise<Uint8Array> {
    if (offset >= this.#at && offset <= this.#at + this.#held.length) {
      this.#held = this.#held.subarray(offset - this.#at);
    } else {
      this.close();
    }
    this.#at = offset;
    if (this.#held.length === 0) {
      this.#held = await this.#next();
    }
    const block = this.#held.subarray(0, length);
    this.#held = this.#held.subarray(block.length);
    this.#at += block.length;
    return block;
  }

  async #next(): Promise<Uint8Array> {
    const { size } = this.#part.source;
    if (this.#at >= size) {
      return NONE;
    }
    if (this.#pace === "pieces") {
      const piece = await this.#part.stream(this.#at, Math.min(size, this.#at + PIECE));
      return new Uint8Array(await new Response(piece).arrayBuffer().catch(unreadable));
    }
    this.#stream ??= await this.#part.stream(this.#at, size);
    this.#reader ??= this.#stream.getReader();
    const { value } = await this.#reader.read().catch(unreadable);
    return value ?? NONE;
  }

  /** Lets go of the stream. */
  close(): void {
    void this.#reader?.cancel().catch(() => undefined);
    this.#reader = null;
    this.#stream = null;
    this.#held = NONE;
  }
}

/** The bytes stopped coming: a server that went away, a file that was deleted. */
function unreadable(error: unknown): never {
  if (error instanceof DOMException && error.name === "AbortError") {
    throw error;
  }
  const failure: SessionFailure = { kind: "read", message: error instanceof Error ? error.message : String(error) };
  throw failure;
}
