// What `perftab view` answers besides the bytes of recordings.

import type { SessionFailure } from "../session/types.ts";
import type { Slices } from "./slices.ts";

/**
 * The DSOs whose build-ids were read too late, which no page can see: their files became others while the recording was
 * made. Without an answer nothing opens: their names would be wrong.
 */
export async function fetchLateIds(url: string, slices: Slices): Promise<Uint32Array> {
  const { dsos } = await ask(url, slices, (reply) => reply.json() as Promise<{ dsos: number[] }>);
  return Uint32Array.from(dsos);
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
