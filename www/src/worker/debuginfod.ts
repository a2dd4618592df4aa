// One DSO from one debuginfod, by its build-id: debug file first, since it has lines and inlines, else the executable.
//
// What comes passes the gate like any file. A server may be down, may forbid this page to read its answers, may send
// another build, or more than a tab can hold: each is an outcome of its own.

import type { Session } from "../generated/perftab_web.js";
import type { FetchOutcome, FetchRequest, Progress, ServerAnswer, ServerOutcome } from "../session/types.ts";
import { readViewAnswers } from "./view_answers.ts";
import type { Slices } from "./slices.ts";
import { BlobSource } from "./sources.ts";

const ARTIFACTS = ["debuginfo", "executable"] as const;

/** The largest debug files known are of browsers, with less than 2 GB. */
const MOST_BYTES = 4e9;

/** What comes is offered to `others` too: one build may have run in both recordings. */
export async function fetchDso(
  session: Session,
  others: readonly Session[],
  request: FetchRequest,
  slices: Slices,
): Promise<FetchOutcome> {
  const row = session.dsos().find((each) => each.id === request.dso);
  let answers: ServerAnswer[] = [];
  for (const artifact of row?.build_id == null ? [] : ARTIFACTS) {
    const fetched = await fetchArtifact(request, addressOf(request, row?.build_id ?? "", artifact), slices);
    if (fetched instanceof Blob) {
      const name = `${row?.name ?? ""} (${artifact} from ${request.host})`;
      const answer = admitFetched(session, fetched, name, request.host);
      for (const other of answer.outcome === "found" ? others : []) {
        other.admit(name, new BlobSource(fetched));
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

function addressOf({ url, token }: FetchRequest, id: string, artifact: string): string {
  const query = token === undefined ? "" : `?token=${encodeURIComponent(token)}`;
  return `${url}/buildid/${id}/${artifact}${query}`;
}

/** What tells nobody more than the question itself does. */
const PLAIN: RequestInit = { credentials: "omit", referrerPolicy: "no-referrer" };

async function fetchArtifact(request: FetchRequest, address: string, slices: Slices): Promise<Blob | ServerAnswer[]> {
  const answer = (outcome: ServerOutcome, detail = ""): ServerAnswer[] => [{ server: request.host, outcome, detail }];
  try {
    const reply = await fetch(address, { ...PLAIN, signal: slices.signal });
    if (!reply.ok && request.token !== undefined) {
      return readViewAnswers(reply.status, await reply.text());
    }
    if (reply.status === 404) {
      return answer("not-found");
    }
    if (!reply.ok || reply.body === null) {
      return answer("failed", `answered ${reply.status}`);
    }
    return (await collect(reply.body, sizeOf(reply), slices)) ?? answer("too-large");
  } catch (error) {
    slices.check();
    const detail = error instanceof Error ? error.message : String(error);
    return answer((await answersUnread(request.url, slices)) ? "no-cors" : "unreachable", detail);
  }
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

function admitFetched(session: Session, file: Blob, name: string, server: string): ServerAnswer {
  const admission = session.admit(name, new BlobSource(file));
  if (admission.outcome === "used") {
    return { server, outcome: "found", detail: admission.gives };
  }
  const { reason, message } = admission;
  return reason.kind === "nothing-recorded-has-it"
    ? { server, outcome: "wrong-id", detail: reason.found }
    : { server, outcome: "unusable", detail: message };
}
