// The bytes of one file of a recording, from wherever the session wants records next.

import type { Source } from "../generated/perftab_web.js";
import type { SessionFailure } from "../session/types.ts";

/** What a browser has of a file or an answer. */
type Bytes = ReadableStream<Uint8Array<ArrayBuffer>>;

/** One file of a recording. */
export interface Part {
  source: Source;
  /** The bytes from `from` to before `to`. */
  stream: (from: number, to: number) => Promise<Bytes>;
}

/** How a part is read: the only one as one long stream, one of many in pieces that leave no connection waiting. */
export type Pace = "stream" | "pieces";

/** Of many parts a piece each is held: of 128 no more than this times 128. */
const PIECE = 512 * 1024;

const NONE = new Uint8Array(0);

/** What of a stream is read at once, at most: as much as Chromium has ready. */
const BLOCK = 2 * 1024 * 1024;

/**
 * The blocks of a stream, each of which is there until the next one is asked for. Where the browser can, all of them are read
 * into the same memory: with new memory for each a worker waited for a tenth of the time that it takes to read 165 MB.
 */
class BlockStream {
  readonly #next: () => Promise<Uint8Array | undefined>;
  readonly cancel: () => Promise<void>;

  constructor(stream: Bytes) {
    const into = intoMemory(stream);
    if (into === null) {
      const reader = stream.getReader();
      this.#next = async () => (await reader.read()).value;
      this.cancel = () => reader.cancel();
      return;
    }
    let memory = new ArrayBuffer(BLOCK);
    this.#next = async () => {
      const { value } = await into.read(new Uint8Array(memory));
      memory = value?.buffer ?? memory;
      return value;
    };
    this.cancel = () => into.cancel();
  }

  /** Nothing where the stream has ended. */
  async next(): Promise<Uint8Array> {
    return (await this.#next()) ?? NONE;
  }
}

/** A reader into memory that it is given; null where streams of this browser are none of bytes. */
function intoMemory(stream: Bytes): ReadableStreamBYOBReader | null {
  try {
    return stream.getReader({ mode: "byob" });
  } catch {
    return null;
  }
}

/** Reads one part on from wherever it is asked for; asked for elsewhere, it begins anew there. */
export class PartReader {
  readonly #part: Part;
  readonly #pace: Pace;
  /** Kept as long as its reader: a reader whose stream was collected never answers. */
  #stream: Bytes | null = null;
  #reader: BlockStream | null = null;
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
    this.#reader ??= new BlockStream(this.#stream);
    return await this.#reader.next().catch(unreadable);
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
export function unreadable(error: unknown): never {
  if (error instanceof DOMException && error.name === "AbortError") {
    throw error;
  }
  const failure: SessionFailure = { kind: "read", message: error instanceof Error ? error.message : String(error) };
  throw failure;
}
