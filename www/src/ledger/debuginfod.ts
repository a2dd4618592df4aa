// Asking a debuginfod for what is missing, by build-id. Nothing is asked before the user has said so for that server.

import { computed, signal } from "@preact/signals";
import { Cancelled, SessionError, WorkerDied } from "../session/client.ts";
import type { DsoRow, FetchOutcome, Progress } from "../session/types.ts";
import { served } from "../open/served.ts";
import { dsos, session } from "../state/app.ts";
import { recallText, remember } from "../state/storage.ts";
import { refreshNames } from "./admit.ts";

/** The server that the user named; empty if none. `perftab view` answers in its place where it serves the page. */
export const serverField = signal(recallText("debuginfod") ?? "");

export interface Server {
  url: string;
  /** How messages call it. */
  host: string;
  /** What it means that it has nothing: "Not on …". */
  absent: string;
  token?: string;
}

/** Whom a fetch asks now; null where no server is known. */
export const server = computed<Server | null>(() => {
  if (served.value !== null) {
    const { token, debuginfod } = served.value;
    return { url: `${location.origin}/debuginfod`, host: "perftab view", absent: absentHere(debuginfod), token };
  }
  const url = readServerUrl(serverField.value);
  return url === null ? null : { url: url.href.replace(/\/$/, ""), host: url.host, absent: `Not on ${url.host}` };
});

/** "Not on this machine, nor on debuginfod.example.org": where `perftab view` looked. */
export function absentHere(upstream: readonly string[]): string {
  const hosts = upstream.map((text) => readServerUrl(text)?.host ?? text);
  return `Not on this machine${hosts.map((host) => `, nor on ${host}`).join("")}`;
}

/** The base of a debuginfod as people write it, with or without its scheme; null if it is none. */
export function readServerUrl(text: string): URL | null {
  const trimmed = text.trim();
  if (trimmed === "") {
    return null;
  }
  try {
    const url = new URL(/^https?:\/\//.test(trimmed) ? trimmed : `https://${trimmed}`);
    return url.hostname === "" ? null : url;
  } catch {
    return null;
  }
}

/** Servers that may be asked, because the user pressed the button that said what they see. */
export const allowed = signal<ReadonlySet<string>>(new Set());

/** The dialog that names the server and what it sees; holds what is to be fetched then. */
export const asking = signal<readonly number[] | null>(null);

export const fetching = signal<ReadonlyMap<number, Progress | null>>(new Map());
export const outcomes = signal<ReadonlyMap<number, FetchOutcome>>(new Map());
/** What left this page: build-ids by server. */
export const sent = signal<{ ids: ReadonlySet<string>; hosts: ReadonlySet<string> }>({ ids: new Set(), hosts: new Set() });
/** "Fetching 1 of 2" of the present batch. */
export const batchState = signal<{ done: number; total: number } | null>(null);

const running = new Map<number, AbortController>();
let queue: number[] = [];

/** What a debuginfod could have: missing or mismatched, with a GNU build-id, most samples first. */
export const fetchable = computed<DsoRow[]>(() =>
  dsos.value
    .filter((row) => (row.status === "missing" || row.status === "mismatched") && row.identity === "gnu" && row.samples > 0)
    .sort((a, b) => b.leaf_share - a.leaf_share || b.share - a.share),
);

export function forgetFetches(): void {
  cancelAll();
  outcomes.value = new Map();
}

/** Fetches at once where the user has allowed the server, else asks first. */
export function requestFetch(ids: readonly number[]): void {
  if (server.value !== null && allowed.value.has(server.value.url)) {
    startFetch(ids);
  } else {
    asking.value = ids;
  }
}

/** True where `perftab view` looks on its own machine alone, so that asking it sends nothing anywhere. */
const staysHere = computed(() => served.value !== null && served.value.debuginfod.length === 0);

/** Who is asked for `what`, and what they learn of the user. */
export function whoSees(what: string): string {
  const view = served.value;
  if (view !== null) {
    const upstream = staysHere.value ? "no other server is asked" : `then ${view.debuginfod.join(", ")} is asked`;
    return `perftab view looks for ${what} on this machine first; ${upstream}. Nothing of the profile is sent.`;
  }
  const host = server.value?.host ?? "A debuginfod server that you name";
  return `${host} is asked for ${what}. It sees that and your IP address, nothing of the profile.`;
}

/** What this machine has needs no question: a recording opened where it was made has its names at once. */
export function fetchFromThisMachine(): void {
  if (staysHere.value && server.value !== null) {
    allowed.value = new Set([...allowed.value, server.value.url]);
    startFetch(fetchable.value.map((row) => row.id));
  }
}

/** The explicit click: this server may be asked from now on. */
export function allowAndFetch(): void {
  const chosen = server.value;
  const ids = asking.value;
  if (chosen === null || ids === null) {
    return;
  }
  remember("debuginfod", serverField.value);
  allowed.value = new Set([...allowed.value, chosen.url]);
  asking.value = null;
  startFetch(ids);
}

export function cancelFetch(id: number): void {
  queue = queue.filter((each) => each !== id);
  running.get(id)?.abort();
  setFetching(id, undefined);
  countBatch();
}

export function cancelAll(): void {
  for (const id of [...queue, ...running.keys()]) {
    cancelFetch(id);
  }
}

/** Few enough not to burden a server, enough to hide its latency. */
const AT_ONCE = 2;

function startFetch(ids: readonly number[]): void {
  const fresh = ids.filter((id) => !running.has(id) && !queue.includes(id));
  queue.push(...fresh);
  const before = batchState.value ?? { done: 0, total: 0 };
  batchState.value = { done: before.done, total: before.total + fresh.length };
  for (const id of fresh) {
    setFetching(id, null);
  }
  pump();
}

function pump(): void {
  while (running.size < AT_ONCE) {
    const id = queue.shift();
    if (id === undefined) {
      break;
    }
    void fetchOne(id).finally(() => {
      running.delete(id);
      setFetching(id, undefined);
      countBatch();
      pump();
    });
  }
}

async function fetchOne(id: number): Promise<void> {
  const [present, asked, row] = [session.peek(), server.peek(), dsos.peek().find((each) => each.id === id)];
  if (present === null || asked === null || row?.build_id == null) {
    return;
  }
  const abort = new AbortController();
  running.set(id, abort);
  if (!staysHere.value) {
    sent.value = { ids: new Set([...sent.value.ids, row.build_id]), hosts: new Set([...sent.value.hosts, asked.host]) };
  }
  try {
    const { url, token } = asked;
    const request = { url, dso: id, ...(token === undefined ? {} : { token }) };
    const outcome = await present.call("fetchDebuginfod", request, {
      signal: abort.signal,
      onProgress: (progress) => setFetching(id, progress),
    });
    outcomes.value = new Map(outcomes.value).set(id, outcome);
    if (outcome.outcome === "found") {
      await refreshNames();
    }
  } catch (error) {
    if (error instanceof SessionError) {
      outcomes.value = new Map(outcomes.value).set(id, { outcome: "unusable", message: error.message });
    } else if (!(error instanceof Cancelled || error instanceof WorkerDied)) {
      throw error;
    }
  }
}

function setFetching(id: number, progress: Progress | null | undefined): void {
  const next = new Map(fetching.value);
  if (progress === undefined) {
    next.delete(id);
  } else {
    next.set(id, progress);
  }
  fetching.value = next;
}

function countBatch(): void {
  const open = queue.length + running.size;
  const total = batchState.value?.total ?? 0;
  batchState.value = open === 0 ? null : { done: total - open, total };
}
