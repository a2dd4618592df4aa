// What `perftab view` answers besides the bytes of recordings.

import type { Session } from "../generated/perftab_web.js";
import type { SessionFailure, Trusted } from "../session/types.ts";
import type { ImagesSide } from "./images_side.ts";
import { findLocal } from "./local_file.ts";
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

/** What the server has at the path of a DSO, and why it is or is not to be used. */
interface AtPath {
  dso: number;
  path: string;
  why: string;
}

/** Names DSOs without an identity by the files at their paths; those that were named. The ledger learns why. */
export async function trustPaths(session: Session, side: ImagesSide, { list, file }: Trusted, slices: Slices): Promise<number[]> {
  const read = (reply: Response): Promise<{ taken: (AtPath & { name: string })[]; left: AtPath[] }> => reply.json();
  const { taken, left } = await ask(list, {}, slices, read);
  for (const { dso, path, why } of left) {
    session.noteAttempt(dso, path, why);
  }
  const named: number[] = [];
  for (const { dso, path, why, name } of taken) {
    const bytes = findLocal(file.replace("DSO", String(dso)));
    const outcome = bytes && (await side.force(dso, { name, bytes }, slices));
    if (outcome?.outcome === "forced") {
      named.push(dso);
    }
    session.noteAttempt(
      dso,
      path,
      outcome?.outcome === "forced" ? why : "not trusted: it has no functions at the sampled addresses",
    );
    await slices.breathe({ stage: "naming", done: named.length, total: taken.length });
    side.checkOpen(slices);
  }
  return named;
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
