// One DSO from one debuginfod, by its build-id: debug file first, since it has lines and inlines, else the executable.
//
// What comes passes the gate like any file. A server may be down, may forbid this page to read its answers, may send
// another build, or more than a tab can hold: each is an outcome of its own.

import type { Session, Source } from "../generated/perftab_web.js";
import type { DsoRow, FetchOutcome, FetchRequest, Progress, Server, ServerAnswer, ServerOutcome } from "../session/types.ts";
import { readViewAnswers } from "./view_answers.ts";
import type { Slices } from "./slices.ts";
import { BlobSource, UrlSource } from "./sources.ts";

type Artifact = "debuginfo" | "executable" | "content";

/** What to ask for, best first. A file without a build-id only `perftab view` can have: by the hash of its content. */
function artifactsOf({ identity }: DsoRow): readonly Artifact[] {
  switch (identity) {
    case "gnu":
      return ["debuginfo", "executable"];
    case "content":
      return ["content"];
    case "none":
      return [];
  }
}

/** The largest debug files known are of browsers, with less than 2 GB. */
const MOST_BYTES = 4e9;

/** A file that came: whoever reads it has a source of his own. */
type Fetched = () => Source;

/** What comes is offered to `others` too: one build may have run in both recordings. */
export async function fetchDso(
  session: Session,
  others: readonly Session[],
  { server, dso }: FetchRequest,
  slices: Slices,
): Promise<FetchOutcome> {
  const row = session.dsos().find((each) => each.id === dso);
  let answers: ServerAnswer[] = [];
  for (const artifact of row === undefined ? [] : artifactsOf(row)) {
    const fetched = await fetchArtifact(server, addressOf(server, row?.build_id ?? "", artifact), slices);
    if (typeof fetched === "function") {
      const name = `${row?.name ?? ""} (${artifact === "content" ? "file" : artifact} from ${server.host})`;
      const answer = admitFetched(session, fetched(), name, server.host);
      for (const other of answer.outcome === "found" ? others : []) {
        other.admit(name, fetched());
      }
      return { answers: [answer] };
    }
    answers = combined(answers, fetched);
    // Who is down for the one is down for the other.
    if (!fetched.some(({ outcome }) => outcome === "not-found")) {
      break;
    }
  }
  return { answers };
}

/** Of each server what it said last; that it has no executable does not hide why it gave no debug file. */
function combined(before: readonly ServerAnswer[], after: readonly ServerAnswer[]): ServerAnswer[] {
  return after.map((answer) => {
    const former = before.find(({ server }) => server === answer.server);
    return former !== undefined && answer.outcome === "not-found" ? former : answer;
  });
}

function addressOf({ url, token }: Server, id: string, artifact: Artifact): string {
  const query = token === undefined ? "" : `?token=${encodeURIComponent(token)}`;
  return `${url}/${artifact === "content" ? `content/${id}` : `buildid/${id}/${artifact}`}${query}`;
}

/** What tells nobody more than the question itself does. */
const PLAIN: RequestInit = { credentials: "omit", referrerPolicy: "no-referrer" };

async function fetchArtifact(server: Server, address: string, slices: Slices): Promise<Fetched | ServerAnswer[]> {
  const answer = (outcome: ServerOutcome, detail = ""): ServerAnswer[] => [{ server: server.host, outcome, detail }];
  const isHere = server.kind === "this-machine";
  try {
    // Of a file on this machine the first byte says what it is like.
    const headers: HeadersInit = isHere ? { Range: "bytes=0-0" } : {};
    const reply = await fetch(address, { ...PLAIN, headers, signal: slices.signal });
    if (!reply.ok && server.kind === "perftab-view") {
      return readViewAnswers(reply.status, await reply.text());
    }
    if (reply.status === 404) {
      return answer("not-found");
    }
    if (!reply.ok || reply.body === null) {
      return answer("failed", `answered ${reply.status}`);
    }
    if (isHere) {
      await reply.arrayBuffer();
      return inPieces(address, reply) ?? answer("failed", "answered without a range");
    }
    const file = await collect(reply.body, sizeOf(reply), slices);
    return file === null ? answer("too-large") : () => new BlobSource(file);
  } catch (error) {
    slices.check();
    const detail = error instanceof Error ? error.message : String(error);
    return answer((await answersUnread(server.url, slices)) ? "no-cors" : "unreachable", detail);
  }
}

/** A file that is read where it is; null where the answer does not say how long it is. */
function inPieces(address: string, reply: Response): Fetched | null {
  const size = /^bytes 0-0\/(\d+)$/.exec(reply.headers.get("Content-Range") ?? "")?.[1];
  const state = reply.headers.get("ETag");
  return size === undefined || state === null ? null : () => new UrlSource(address, Number(size), state);
}

/**
 * A server that is down and one that forbids this page to read its answers look the same from here. Asked for nothing but
 * an answer that nobody reads, only the second gives one.
 */
async function answersUnread(url: string, slices: Slices): Promise<boolean> {
  try {
    await fetch(url, { ...PLAIN, mode: "no-cors", cache: "no-store", signal: slices.signal });
    return true;
  } catch {
    slices.check();
    return false;
  }
}

/** The size that the server promises; elfutils names it in a header of its own where the reply is packed. */
function sizeOf(reply: Response): number | undefined {
  const promised = reply.headers.get("Content-Encoding") === null ? reply.headers.get("Content-Length") : null;
  const size = Number(reply.headers.get("X-Debuginfod-Size") ?? promised ?? Number.NaN);
  return Number.isFinite(size) ? size : undefined;
}

/** Parts of this size go to the browser's own storage, so that a debug file of gigabytes is not held in memory twice. */
const PART = 8 * 1024 * 1024;

/** null where it is too large, whatever the server promised. */
async function collect(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  total: number | undefined,
  slices: Slices,
): Promise<Blob | null> {
  const reader = body.getReader();
  const parts: Blob[] = [];
  let chunks: Uint8Array<ArrayBuffer>[] = [];
  let [done, held] = [0, 0];
  const progress = (): Progress => ({ stage: "fetching", done, ...(total === undefined ? {} : { total }) });
  while (Math.max(done, total ?? 0) <= MOST_BYTES) {
    const block = await slices.wait(reader.read(), progress());
    if (block.done) {
      return new Blob([...parts, ...chunks]);
    }
    chunks.push(block.value);
    done += block.value.byteLength;
    held += block.value.byteLength;
    if (held >= PART) {
      parts.push(new Blob(chunks));
      [chunks, held] = [[], 0];
    }
    await slices.breathe(progress());
  }
  await reader.cancel();
  return null;
}

function admitFetched(session: Session, file: Source, name: string, server: string): ServerAnswer {
  const admission = session.admit(name, file);
  if (admission.outcome === "used") {
    return { server, outcome: "found", detail: admission.gives };
  }
  const { reason, message } = admission;
  return reason.kind === "nothing-recorded-has-it"
    ? { server, outcome: "wrong-id", detail: reason.found }
    : { server, outcome: "unusable", detail: message };
}
