// One DSO from one debuginfod, by its build-id: debug file first, since it has lines and inlines, else the executable.
//
// What comes passes the gate like any file. A server may be down, may forbid this page to read its answers, may send
// another build, or more than a tab can hold: each is an outcome of its own.

import type { OfferReport } from "../generated/perftab_web.js";
import type { Args, FetchRequest, Progress, Result, Server, ServerAnswer, ServerOutcome } from "../session/types.ts";
import { readViewAnswers } from "./view_answers.ts";
import type { CodeOfBuild, GivenFile, ImagesProtocol } from "./images_protocol.ts";
import { findLocal, hashLocal } from "./local_file.ts";
import type { Slices } from "./slices.ts";

type Artifact = "debuginfo" | "executable" | "memory" | "best" | "content" | "source";

/**
 * What to ask for, best first; the machine of `perftab view` knows by itself what is best. A file without a build-id only that
 * can have: by the hash of its content.
 */
function artifactsOf({ kind }: Server, { identity }: FetchRequest["dso"]): readonly Artifact[] {
  switch (identity) {
    case "gnu":
      return kind === "this-machine" ? ["best"] : ["debuginfo", "executable"];
    case "content":
      return ["content"];
    case "none":
      return [];
  }
}

/** The largest debug files known are of browsers, with less than 2 GB. */
const MOST_BYTES = 4e9;

/** Nobody writes a source file that is longer. */
const MOST_OF_SOURCE = 16 << 20;

/** A file that came. */
type Fetched = GivenFile["bytes"];

/** What comes is offered, and told where it is of use: one build may have run in another recording too. */
export async function fetchDso(
  { server, dso, unwinds }: ImagesProtocol["fetch"]["args"],
  slices: Slices,
  offer: (file: GivenFile) => Promise<OfferReport>,
  hasUnwindTables: (dso: number) => boolean,
): Promise<ImagesProtocol["fetch"]["result"]> {
  let answers: ServerAnswer[] = [];
  const fetchOne = async (artifact: Artifact): Promise<GivenFile | ServerAnswer[]> => {
    const fetched = await fetchArtifact(server, addressOf(server, dso.build_id ?? "", artifact), artifact, slices);
    const what = artifact === "content" || artifact === "best" ? "file" : artifact;
    return Array.isArray(fetched) ? fetched : { name: `${dso.name} (${what} from ${server.host})`, bytes: fetched };
  };
  for (const artifact of artifactsOf(server, dso)) {
    const fetched = await fetchOne(artifact);
    if (!Array.isArray(fetched)) {
      const report = await offer(fetched);
      const answer = answerOf(report, server.host);
      const isFound = answer.outcome === "found";
      // A debug file does not tell how stacks are unwound, as a rule.
      const lacksTables = report.used.some(({ dsos }) => !dsos.some(hasUnwindTables));
      const executable = unwinds && lacksTables && artifact !== "executable" ? await fetchOne("executable") : [];
      if (!Array.isArray(executable)) {
        await offer(executable);
      }
      return { answers: [answer], found: isFound ? fetched : null };
    }
    answers = combined(answers, fetched);
    // Who is down for the one is down for the other.
    if (!fetched.some(({ outcome }) => outcome === "not-found")) {
      break;
    }
  }
  return { answers, found: null };
}

/** The source file of a path that the debug information of a build names; what comes has no identity. */
export async function fetchSource({ server, id, path }: Args<"fetchSource">, slices: Slices): Promise<Result<"fetchSource">> {
  const address = `${server.url}/buildid/${id}/source${encoded(path)}`;
  const fetched = await fetchArtifact(server, address, "source", slices);
  if (fetched instanceof Blob) {
    return { answer: { server: server.host, outcome: "found", detail: "" }, bytes: fetched };
  }
  const [said] = Array.isArray(fetched) ? fetched : [];
  const answer: ServerAnswer = said ?? { server: server.host, outcome: "failed", detail: "" };
  const sentence = `${server.host} has a file of this path that is longer than sources are; not fetched`;
  return { answer: answer.outcome === "too-large" ? { ...answer, sentence } : answer, bytes: null };
}

/** As servers know it, too: a browser takes `..` out of any address. */
function encoded(path: string): string {
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "..") {
      parts.pop();
    } else if (part !== "" && part !== ".") {
      parts.push(encodeURIComponent(part));
    }
  }
  return `/${parts.join("/")}`;
}

/** Of each server what it said last; that it has no executable does not hide why it gave no debug file. */
function combined(before: readonly ServerAnswer[], after: readonly ServerAnswer[]): ServerAnswer[] {
  return after.map((answer) => {
    const former = before.find(({ server }) => server === answer.server);
    return former !== undefined && answer.outcome === "not-found" ? former : answer;
  });
}

/** Of what the debug information of a build names by an id. */
export function companionAddress(server: Server, { build, id }: { build: string; id: string }): string {
  return `${server.url}/buildid/${build}/${id}${queryOf(server)}`;
}

function queryOf({ token }: Server): string {
  return token === undefined ? "" : `?token=${encodeURIComponent(token)}`;
}

/** Where the machine of `perftab view` has the code of a build: what is best of one may be a debug file, which has none. */
export function codeAddress(server: Server, { id, artifact }: CodeOfBuild): string {
  return addressOf(server, id, artifact);
}

function addressOf(server: Server, id: string, artifact: Artifact): string {
  const { url } = server;
  const query = queryOf(server);
  switch (artifact) {
    case "best":
      return `${url}/buildid/${id}${query}`;
    case "content":
      return `${url}/content/${id}${query}`;
    default:
      return `${url}/buildid/${id}/${artifact}${query}`;
  }
}

/** What tells nobody more than the question itself does. */
const PLAIN: RequestInit = { credentials: "omit", referrerPolicy: "no-referrer" };

async function fetchArtifact(
  server: Server,
  address: string,
  artifact: Artifact,
  slices: Slices,
): Promise<Fetched | ServerAnswer[]> {
  const answer = (outcome: ServerOutcome, detail = ""): ServerAnswer[] => [{ server: server.host, outcome, detail }];
  const detailOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
  if (server.kind === "this-machine") {
    try {
      const file = findLocal(address);
      if (file === null) {
        return answer("not-found");
      }
      if (artifact === "content") {
        await hashLocal(file, slices);
      }
      return file;
    } catch (error) {
      slices.check();
      return answer("failed", detailOf(error));
    }
  }
  try {
    const reply = await fetch(address, { ...PLAIN, signal: slices.signal });
    if (!reply.ok && server.kind === "perftab-view") {
      return readViewAnswers(reply.status, await reply.text());
    }
    if (reply.status === 404) {
      return answer("not-found");
    }
    if (!reply.ok || reply.body === null) {
      return answer("failed", `answered ${reply.status}`);
    }
    const most = artifact === "source" ? MOST_OF_SOURCE : MOST_BYTES;
    const file = await collect(reply.body, { most, total: sizeOf(reply) }, slices);
    return file ?? answer("too-large");
  } catch (error) {
    slices.check();
    return answer((await answersUnread(server.url, slices)) ? "no-cors" : "unreachable", detailOf(error));
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
  { most, total }: { most: number; total: number | undefined },
  slices: Slices,
): Promise<Blob | null> {
  const reader = body.getReader();
  const parts: Blob[] = [];
  let chunks: Uint8Array<ArrayBuffer>[] = [];
  let [done, held] = [0, 0];
  const progress = (): Progress => ({ stage: "fetching", done, ...(total === undefined ? {} : { total }) });
  while (Math.max(done, total ?? 0) <= most) {
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

function answerOf({ used: [used], notUsed: [refused] }: OfferReport, server: string): ServerAnswer {
  if (used !== undefined) {
    return { server, outcome: "found", detail: used.gives };
  }
  return refused?.reason.kind === "nothing-recorded-has-it"
    ? { server, outcome: "wrong-id", detail: refused.reason.found }
    : { server, outcome: "unusable", detail: refused?.message ?? "no executable and no debug file" };
}
