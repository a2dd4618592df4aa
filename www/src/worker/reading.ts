// Reading a recording: what stands before the records at random, the records as a stream that is pushed into the session.

import type { Source, WantedBytes } from "../generated/perftab_web.js";
import { Opening, Session } from "../generated/perftab_web.js";
import type { Progress, SessionFailure } from "../session/types.ts";
import { BlobSource, UrlSource } from "./sources.ts";
import type { Slices } from "./slices.ts";

/** One file of a recording. */
interface Part {
  source: Source;
  stream(from: number, to: number): Promise<Bytes>;
}

export async function readFile(file: File, slices: Slices): Promise<Session> {
  const stream = (from: number, to: number): Promise<Bytes> => Promise.resolve(file.slice(from, to).stream());
  return read([{ source: new BlobSource(file), stream }], slices);
}

export async function readUrl(url: string, size: number, slices: Slices): Promise<Session> {
  const stream = async (from: number, to: number): Promise<Bytes> => {
    const headers = { Range: `bytes=${from}-${to - 1}` };
    const reply = await fetch(url, { headers, signal: slices.signal }).catch(unreadable);
    if (reply.status !== 206 || reply.body === null) {
      return unreadable(new Error(`the server answered ${reply.status}`));
    }
    return reply.body;
  };
  return read([{ source: new UrlSource(url, size), stream }], slices);
}

/** The bytes stopped coming: a server that went away, a file that was deleted. */
function unreadable(error: unknown): never {
  if (error instanceof DOMException && error.name === "AbortError") {
    throw error;
  }
  const failure: SessionFailure = { kind: "read", message: error instanceof Error ? error.message : String(error) };
  throw failure;
}

type Bytes = ReadableStream<Uint8Array<ArrayBuffer>>;

async function read(parts: readonly Part[], slices: Slices): Promise<Session> {
  const opening = new Opening(parts.map((part) => part.source));
  const readers = parts.map((part) => new PartReader(part));
  try {
    for (let wanted = opening.wants(); wanted !== null; wanted = opening.wants()) {
      opening.push(await (readers[wanted.part] as PartReader).read(wanted));
      const progress: Progress = { stage: "reading", done: opening.done, total: opening.total };
      await slices.breathe(progress);
    }
    return opening.finish();
  } catch (error) {
    // `finish` has taken the opening; what did not come so far frees it.
    try {
      opening.free();
    } catch {
      // It was taken.
    }
    throw error;
  } finally {
    readers.forEach((reader) => reader.close());
  }
}

const NOTHING = new Uint8Array(0);

/** Reads a part as a stream for as long as the session wants it in order, and begins a new stream where it jumps. */
class PartReader {
  readonly #part: Part;
  // Both stay referenced until the end: a reader whose stream was collected never answers.
  #stream: Bytes | null = null;
  #reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>> | null = null;
  /** What has come and was not wanted yet, and where in the part it begins. */
  #rest: Uint8Array = NOTHING;
  #offset = 0;

  constructor(part: Part) {
    this.#part = part;
  }

  /** The first of the wanted bytes, as many as came at once; none if the part has no more. */
  async read({ offset, length }: WantedBytes): Promise<Uint8Array> {
    if (this.#reader === null || offset < this.#offset || offset > this.#offset + this.#rest.length) {
      this.close();
      const end = Math.min(offset + length, this.#part.source.size);
      if (offset >= end) {
        return NOTHING;
      }
      this.#stream = await this.#part.stream(offset, end);
      this.#reader = this.#stream.getReader();
      this.#rest = NOTHING;
    } else {
      this.#rest = this.#rest.subarray(offset - this.#offset);
    }
    this.#offset = offset;
    if (this.#rest.length === 0) {
      const block = await this.#reader.read().catch(unreadable);
      this.#rest = block.value ?? NOTHING;
    }
    return this.#take(length);
  }

  #take(length: number): Uint8Array {
    const block = this.#rest.subarray(0, length);
    this.#rest = this.#rest.subarray(block.length);
    this.#offset += block.length;
    return block;
  }

  close(): void {
    void this.#reader?.cancel().catch(() => undefined);
    this.#reader = null;
    this.#stream = null;
  }
}
