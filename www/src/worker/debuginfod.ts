// One DSO from a debuginfod, by its build-id: debug file first, since it has lines and inlines, else the executable.

import type { Session } from "../generated/perftab_web.js";
import type { FetchOutcome, FetchRequest } from "../session/types.ts";
import { nameFrames } from "./naming.ts";
import type { Slices } from "./slices.ts";
import { BlobSource } from "./sources.ts";

const ARTIFACTS = ["debuginfo", "executable"] as const;

export async function fetchDso(session: Session, request: FetchRequest, slices: Slices): Promise<FetchOutcome> {
  const row = session.dsos().find((each) => each.id === request.dso);
  if (row === undefined || row.build_id === null) {
    return { outcome: "not-found" };
  }
  for (const artifact of ARTIFACTS) {
    const fetched = await fetchArtifact(request, addressOf(request, row.build_id, artifact), slices);
    if (fetched instanceof Blob) {
      return admitFetched(session, fetched, `${row.name} (${artifact} from debuginfod)`, slices);
    }
    if (fetched.outcome !== "not-found") {
      return fetched;
    }
  }
  return { outcome: "not-found" };
}

function addressOf({ url, token }: FetchRequest, id: string, artifact: string): string {
  const query = token === undefined ? "" : `?token=${encodeURIComponent(token)}`;
  return `${url}/buildid/${id}/${artifact}${query}`;
}

async function fetchArtifact({ token }: FetchRequest, address: string, slices: Slices): Promise<Blob | FetchOutcome> {
  try {
    const reply = await fetch(address, { signal: slices.signal, credentials: "omit", referrerPolicy: "no-referrer" });
    if (reply.status === 404) {
      return { outcome: "not-found" };
    }
    if (!reply.ok && token !== undefined) {
      return { outcome: "refused", message: await firstLine(reply) };
    }
    if (!reply.ok || reply.body === null) {
      return { outcome: "unreachable", message: `it answered ${reply.status}` };
    }
    return await collect(reply.body, sizeOf(reply), slices);
  } catch (error) {
    slices.check();
    // A server that is down and one that forbids this page to read its answers look the same from here.
    return { outcome: "unreachable", message: error instanceof Error ? error.message : String(error) };
  }
}

/** What `perftab view` says in one line of text, where it says anything. */
async function firstLine(reply: Response): Promise<string> {
  const isText = reply.headers.get("Content-Type")?.startsWith("text/plain") ?? false;
  const [line = ""] = isText ? (await reply.text()).trim().split("\n") : [];
  return line === "" ? `perftab view answered ${reply.status}` : line.slice(0, LONGEST_LINE);
}

/** Enough for a few servers and their reasons. */
const LONGEST_LINE = 400;

/** The size that the server promises; elfutils names it in a header of its own where the reply is packed. */
function sizeOf(reply: Response): number | undefined {
  const promised = reply.headers.get("Content-Encoding") === null ? reply.headers.get("Content-Length") : null;
  const size = Number(reply.headers.get("X-Debuginfod-Size") ?? promised ?? Number.NaN);
  return Number.isFinite(size) ? size : undefined;
}

/** Parts of this size go to the browser's own storage, so that a debug file of gigabytes is not held in memory twice. */
const PART = 8 * 1024 * 1024;

async function collect(body: ReadableStream<Uint8Array<ArrayBuffer>>, total: number | undefined, slices: Slices): Promise<Blob> {
  const reader = body.getReader();
  const parts: Blob[] = [];
  let chunks: Uint8Array<ArrayBuffer>[] = [];
  let [done, held] = [0, 0];
  for (;;) {
    const block = await reader.read();
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
    await slices.breathe({ stage: "fetching", done, ...(total === undefined ? {} : { total }) });
  }
}

async function admitFetched(session: Session, file: Blob, name: string, slices: Slices): Promise<FetchOutcome> {
  const admission = session.admit(name, new BlobSource(file));
  if (admission.outcome === "used") {
    await nameFrames(session, slices);
    return { outcome: "found", gives: admission.gives, bytes: file.size };
  }
  const { reason, message } = admission;
  if (reason.kind === "nothing-recorded-has-it") {
    return { outcome: "wrong-id", found: reason.found };
  }
  return { outcome: "unusable", message };
}
