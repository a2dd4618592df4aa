// The files of a recording: chosen in this browser, or on a server.

import type { Part } from "./part_reader.ts";
import { unreadable } from "./part_reader.ts";
import { BlobSource, UrlSource } from "./sources.ts";

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
