// Reading a recording: header and features at random, records as a stream that is pushed into the session.

import type { Source } from "../generated/perftab_web.js";
import { Opening, Session } from "../generated/perftab_web.js";
import type { Progress, SessionFailure } from "../session/types.ts";
import { BlobSource, UrlSource } from "./sources.ts";
import type { Slices } from "./slices.ts";

export async function readFile(file: File, slices: Slices): Promise<Session> {
  return read(new BlobSource(file), slices, (from, to) => Promise.resolve(file.slice(from, to).stream()));
}

export async function readUrl(url: string, size: number, slices: Slices): Promise<Session> {
  return read(new UrlSource(url, size), slices, async (from, to) => {
    const headers = { Range: `bytes=${from}-${to - 1}` };
    const reply = await fetch(url, { headers, signal: slices.signal }).catch(unreadable);
    if (reply.status !== 206 || reply.body === null) {
      return unreadable(new Error(`the server answered ${reply.status}`));
    }
    return reply.body;
  });
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

async function read(
  source: Source,
  slices: Slices,
  stream: (from: number, to: number) => Promise<Bytes>,
): Promise<Session> {
  const opening = new Opening(source);
  try {
    const { dataOffset, dataSize } = opening;
    if (dataSize > 0) {
      await pump(await stream(dataOffset, dataOffset + dataSize), opening, dataSize, slices);
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
  }
}

async function pump(bytes: Bytes, opening: Opening, total: number, slices: Slices): Promise<void> {
  // The stream and its reader stay referenced until the end: a reader whose stream was collected never answers.
  const reader = bytes.getReader();
  let done = 0;
  try {
    for (;;) {
      const block = await reader.read().catch(unreadable);
      if (block.done) {
        return;
      }
      opening.push(block.value);
      done += block.value.byteLength;
      const progress: Progress = { stage: "reading", done, total };
      await slices.breathe(progress);
    }
  } finally {
    void reader.cancel().catch(() => undefined);
  }
}
