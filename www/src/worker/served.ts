// What `perftab view` answers besides the bytes of recordings.

import type { Session } from "../generated/perftab_web.js";
import type { SessionFailure } from "../session/types.ts";
import type { Slices } from "./slices.ts";

/**
 * Tells the server what files the recording has, so that it can find them. It answers what no page can see of build-ids that
 * were read at the end: the DSOs whose files became others while the recording was made, and those whose files are the same.
 * Without an answer nothing opens: names would be wrong.
 */
export async function tellFiles(session: Session, url: string, slices: Slices): Promise<void> {
  const post: RequestInit = { method: "POST", body: session.recordedFiles() };
  const read = (reply: Response): Promise<{ replaced: number[]; same: number[] }> => reply.json();
  const { replaced, same } = await ask(url, post, slices, read);
  session.vouch(Uint32Array.from(same));
  session.distrust(Uint32Array.from(replaced));
}

/** Takes in what processes say of the code that they made, as far as the server finds it. */
export async function takeCode(session: Session, url: string, slices: Slices): Promise<void> {
  const wanted = session.codeWanted();
  if (wanted !== undefined) {
    const post: RequestInit = { method: "POST", body: wanted };
    session.takeCode(new Uint8Array(await ask(url, post, slices, (reply) => reply.arrayBuffer())));
  }
}

export function fetchText(url: string, slices: Slices): Promise<string> {
  return ask(url, {}, slices, (reply) => reply.text());
}

async function ask<T>(url: string, how: RequestInit, slices: Slices, read: (reply: Response) => Promise<T>): Promise<T> {
  try {
    const reply = await fetch(url, { ...how, signal: slices.signal, credentials: "omit", referrerPolicy: "no-referrer" });
    if (!reply.ok) {
      throw new Error(`perftab view answered ${reply.status}: ${await reply.text()}`);
    }
    return await read(reply);
  } catch (error) {
    slices.check();
    const failure: SessionFailure = { kind: "read", message: error instanceof Error ? error.message : String(error) };
    throw failure;
  }
}
