// What `perftab view` answers besides the bytes of recordings.

import type { SessionFailure } from "../session/types.ts";
import type { Slices } from "./slices.ts";

/**
 * What no page can see of build-ids that were read at the end: the DSOs whose files became others while the recording was
 * made, and those whose files are the same. Without an answer nothing opens: names would be wrong.
 */
export async function fetchLateIds(url: string, slices: Slices): Promise<{ dsos: Uint32Array; same: Uint32Array }> {
  const { dsos, same } = await ask(url, slices, (reply) => reply.json() as Promise<{ dsos: number[]; same: number[] }>);
  return { dsos: Uint32Array.from(dsos), same: Uint32Array.from(same) };
}

export function fetchText(url: string, slices: Slices): Promise<string> {
  return ask(url, slices, (reply) => reply.text());
}

async function ask<T>(url: string, slices: Slices, read: (reply: Response) => Promise<T>): Promise<T> {
  try {
    return await read(await fetch(url, { signal: slices.signal, credentials: "omit", referrerPolicy: "no-referrer" }));
  } catch (error) {
    slices.check();
    const failure: SessionFailure = { kind: "read", message: error instanceof Error ? error.message : String(error) };
    throw failure;
  }
}
