// What `perftab view` knows of a recording and no page can see: files that became others while it was made.

import type { SessionFailure } from "../session/types.ts";
import type { Slices } from "./slices.ts";

/** The DSOs whose build-ids were read too late. Without an answer nothing opens: their names would be wrong. */
export async function fetchLateIds(url: string, slices: Slices): Promise<Uint32Array> {
  try {
    const reply = await fetch(url, { signal: slices.signal, credentials: "omit", referrerPolicy: "no-referrer" });
    const answer = (await reply.json()) as { dsos: number[] };
    return Uint32Array.from(answer.dsos);
  } catch (error) {
    slices.check();
    const failure: SessionFailure = { kind: "read", message: error instanceof Error ? error.message : String(error) };
    throw failure;
  }
}
