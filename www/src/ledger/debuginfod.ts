// Asking debuginfod servers for what is missing, by build-id: one server after the other until one has it, two DSOs at a
// time, or more where files of this machine are asked for; those with most samples first. What a server said of a build-id
// holds for every profile, and is asked again only where the user asks again.

import { computed, signal } from "@preact/signals";
import type { CallOptions } from "../session/client.ts";
import { Cancelled, SessionError, WorkerDied } from "../session/client.ts";
import type { DsoRow, FetchRequest, Progress, Server, ServerAnswer, ServerOutcome } from "../session/types.ts";
import { dsos, session } from "../state/app.ts";
import { reachesMore, refreshNames } from "./admit.ts";
import { Arrivals } from "./arrivals.ts";
import { Slots } from "./slots.ts";
import { THIS_MACHINE, allowServers, fetchesAutomatically, isAllowed, servers } from "./servers.ts";

/** The dialog that names the servers and what they see; holds what is to be fetched then. */
export const asking = signal<readonly number[] | null>(null);

/** What is being fetched: from whom, and how far it is. */
export interface Fetching {
  host: string;
  progress: Progress | null;
}

/** By DSO. */
export const fetching = signal<ReadonlyMap<number, Fetching>>(new Map());
/** What servers said, by build-id. */
export const answers = signal<ReadonlyMap<string, readonly ServerAnswer[]>>(new Map());
/** What left this page: build-ids, and paths of sources, by server. */
export const sent = signal<{ ids: ReadonlySet<string>; paths: ReadonlySet<string>; hosts: ReadonlySet<string> }>({
  ids: new Set(),
  paths: new Set(),
  hosts: new Set(),
});

export function noteSent(host: string, id: string, path?: string): void {
  const { ids, paths, hosts } = sent.peek();
  sent.value = {
    ids: new Set([...ids, id]),
    paths: path === undefined ? paths : new Set([...paths, path]),
    hosts: new Set([...hosts, host]),
  };
}
/** "Fetching 1 of 2" of the present batch. */
export const batchState = signal<{ done: number; total: number } | null>(null);
/** Bytes that are under way now. */
export const bytesUnderWay = computed(() =>
  [...fetching.value.values()].reduce((sum, { progress }) => sum + (progress?.done ?? 0), 0),
);

const running = new Map<number, AbortController>();
const arrivals = new Arrivals(showNames);
let queue: DsoRow[] = [];

/** What a server could have: what has no names, or forced ones, most samples first. */
export const fetchable = computed<DsoRow[]>(() => dsos.value.filter(isFetchable).sort(bySamples));

/** Without a server known, the first click asks for one. */
export function isFetchable(row: DsoRow): boolean {
  const canBeAsked = row.identity === "gnu" || serversFor(row).length > 0;
  return (isWanted(row) || mayHaveLines(row)) && canBeAsked && row.sampled;
}

/** What the core says of a file that lacks nothing. */
const LINES = "inlines and source lines";

/** A file of this machine was taken without a question; servers may have the lines that it lacks. */
function mayHaveLines({ status, gives }: DsoRow): boolean {
  return status === "matched" && gives !== LINES && servers.value.some(({ kind }) => kind === "perftab-view");
}

/** The same, without what is under way, and what every server has been asked for already. */
export const unasked = computed<DsoRow[]>(() => {
  const isAskable = (row: DsoRow): boolean => servers.value.length === 0 || serversToAsk(row).length > 0;
  return fetchable.value.filter((row) => !fetching.value.has(row.id) && isAskable(row));
});

/** Whether the right file is still to come. */
export function isWanted({ status }: DsoRow): boolean {
  return status === "missing" || status === "no-symbols" || status === "mismatched" || status === "forced";
}

function bySamples(a: DsoRow, b: DsoRow): number {
  return b.leaf_share - a.leaf_share || b.share - a.share;
}

/** What servers said of a DSO's build-id. */
export function answersFor(row: DsoRow): readonly ServerAnswer[] {
  return answers.value.get(row.build_id ?? "") ?? [];
}

/** What another question would not change. A server that was down may be up again. */
const SETTLED: readonly ServerOutcome[] = ["not-found", "wrong-id", "too-large", "unusable", "no-cors"];

/** The servers that may have a DSO's file, and have not said anything of it that stands. */
function serversToAsk(row: DsoRow): readonly Server[] {
  const known = answersFor(row);
  const isSettled = ({ kind, host }: Server): boolean => {
    const isOf = ({ server }: ServerAnswer): boolean => (kind === "perftab-view" ? server !== THIS_MACHINE : server === host);
    const said = known.filter(isOf);
    const isInUse = row.status === "matched" || row.status === "no-symbols";
    const isSaid = ({ outcome }: ServerAnswer): boolean => SETTLED.includes(outcome) || (outcome === "found" && isInUse);
    return said.length > 0 && said.every(isSaid);
  };
  return serversFor(row).filter((server) => !isSettled(server));
}

/** A debuginfod knows build-ids; a file without one is looked for on this machine alone. */
export function serversFor(row: DsoRow): readonly Server[] {
  const mayHaveIt = ({ kind }: Server): boolean => row.identity === "gnu" || kind === "this-machine";
  return row.identity === "none" ? [] : servers.value.filter(mayHaveIt);
}

/** Of a row that the user asks for again: what was said before is forgotten. */
export function fetchAgain(row: DsoRow): void {
  setAnswers(row.build_id ?? "", []);
  requestFetch([row.id]);
}

/** Fetches at once where the user has allowed the servers, else asks first. */
export function requestFetch(ids: readonly number[]): void {
  const mayNotAsk = (row: DsoRow): boolean => ids.includes(row.id) && !serversToAsk(row).every(isAllowed);
  if (servers.value.length === 0 || dsos.peek().some(mayNotAsk)) {
    asking.value = ids;
  } else {
    startFetch(ids);
  }
}

/**
 * Of a profile that has just opened. What this machine has needs no question: a recording opened where it was made has its
 * names at once. Other servers are asked where the user has ticked that.
 */
export function fetchUnasked(): void {
  if (fetchesAutomatically.value) {
    allowServers();
  }
  reached = new Set(unasked.value.map((row) => row.id));
  startFetch(unasked.value.filter((row) => serversToAsk(row).some(isAllowed)).map((row) => row.id));
}

/** The DSOs that stacks, branches and data had reached when files were asked for last. */
let reached: ReadonlySet<number> = new Set();

reachesMore.subscribe((times) => {
  if (times === 0) {
    return;
  }
  // As of a profile that has just opened.
  const mayAsk = (server: Server): boolean =>
    server.kind === "this-machine" || (fetchesAutomatically.peek() && isAllowed(server));
  const fresh = unasked.peek().filter((row) => !reached.has(row.id));
  reached = new Set([...reached, ...fresh.map((row) => row.id)]);
  startFetch(fresh.filter((row) => serversToAsk(row).some(mayAsk)).map((row) => row.id));
});

/** The explicit click in the dialog. */
export function allowAndFetch(): void {
  const ids = asking.value;
  if (servers.value.length > 0 && ids !== null) {
    allowServers();
    asking.value = null;
    startFetch(ids);
  }
}

export function cancelFetch(id: number): void {
  queue = queue.filter((row) => row.id !== id);
  running.get(id)?.abort();
  setFetching(id, null);
  countBatch();
}

export function cancelAll(): void {
  for (const id of [...queue.map((row) => row.id), ...running.keys()]) {
    cancelFetch(id);
  }
}

/**
 * Enough that the worker that reads files always has the next one: of a whole system's recording, 78 files of this machine
 * were named in 2.7 s, two at a time in 3.9 s.
 */
const AT_ONCE = 8;
/** At servers: few enough not to burden one, enough to hide its latency. */
const serverSlots = new Slots(2);

function startFetch(ids: readonly number[]): void {
  const isFresh = (row: DsoRow): boolean => ids.includes(row.id) && !running.has(row.id) && !queue.includes(row);
  const fresh = dsos.peek().filter(isFresh).filter(hasOwnId);
  queue = [...queue, ...fresh].sort(bySamples);
  const before = batchState.value ?? { done: 0, total: 0 };
  batchState.value = { done: before.done, total: before.total + fresh.length };
  for (const row of fresh) {
    setFetching(row.id, { host: "", progress: null });
  }
  pump();
  countBatch();
}

/** One build may be several DSOs: a file for the first is one for all. */
function hasOwnId(row: DsoRow, index: number, rows: readonly DsoRow[]): boolean {
  return row.build_id !== null && rows.findIndex((other) => other.build_id === row.build_id) === index;
}

function pump(): void {
  while (running.size < AT_ONCE) {
    const row = queue.shift();
    if (row === undefined) {
      break;
    }
    const abort = new AbortController();
    running.set(row.id, abort);
    void fetchOne(row, abort.signal).finally(() => {
      running.delete(row.id);
      setFetching(row.id, null);
      countBatch();
      pump();
    });
  }
  if (running.size === 0) {
    arrivals.allArrived();
  }
}

/** Asks one server after the other until one has it. */
async function fetchOne(row: DsoRow, signal: AbortSignal): Promise<void> {
  try {
    for (const server of serversToAsk(row).filter(isAllowed)) {
      const said = await askOne(row, server, signal);
      const others = answersFor(row).filter((known) => said.every((answer) => answer.server !== known.server));
      setAnswers(row.build_id ?? "", [...others, ...said]);
      const found = said.find(({ outcome }) => outcome === "found");
      if (found !== undefined) {
        arrivals.fileArrived(row.share);
      }
      // What this machine has may be stripped, and a server may have the debug file.
      if (found !== undefined && (server.kind !== "this-machine" || found.detail === LINES)) {
        return;
      }
    }
  } catch (error) {
    if (error instanceof Cancelled) {
      if (!signal.aborted) {
        // Nobody cancelled it: its profile was closed, or more of it took its place. Nothing else is wanted for that.
        queue.splice(0).forEach(({ id }) => setFetching(id, null));
      }
    } else if (!(error instanceof WorkerDied)) {
      throw error;
    }
  }
}

async function showNames(): Promise<void> {
  try {
    await refreshNames();
  } catch (error) {
    if (!(error instanceof Cancelled || error instanceof WorkerDied)) {
      throw error;
    }
  }
}

async function askOne(row: DsoRow, server: Server, signal: AbortSignal): Promise<readonly ServerAnswer[]> {
  const ask = (): Promise<readonly ServerAnswer[]> => askInTurn(row, server, signal);
  return server.kind === "this-machine" ? await ask() : await serverSlots.take(signal, ask);
}

async function askInTurn(row: DsoRow, server: Server, signal: AbortSignal): Promise<readonly ServerAnswer[]> {
  const { host } = server;
  const onProgress = (progress: Progress | null): void => setFetching(row.id, { host, progress });
  onProgress(null);
  try {
    return await askServer(row, { server }, { signal, onProgress });
  } catch (error) {
    if (error instanceof SessionError) {
      return [{ server: host, outcome: "unusable", detail: error.message }];
    }
    throw error;
  }
}

/** Asks a server for a DSO's file, and remembers what it is told by that. */
export async function askServer(
  { name, kind, identity, build_id }: DsoRow,
  request: Omit<FetchRequest, "dso">,
  options: CallOptions,
): Promise<readonly ServerAnswer[]> {
  const present = session.peek();
  if (present === null) {
    return [];
  }
  const { server } = request;
  if (server.kind !== "this-machine") {
    noteSent(server.host, build_id ?? "");
  }
  // Of a row no more than that.
  const dso = { name, kind, identity, build_id };
  return (await present.call("fetchDebuginfod", { ...request, dso }, options)).answers;
}

function setAnswers(id: string, said: readonly ServerAnswer[]): void {
  answers.value = new Map(answers.value).set(id, said);
}

function setFetching(id: number, state: Fetching | null): void {
  const next = new Map(fetching.value);
  if (state === null) {
    next.delete(id);
  } else {
    next.set(id, state);
  }
  fetching.value = next;
}

function countBatch(): void {
  const open = queue.length + running.size;
  const total = batchState.value?.total ?? 0;
  batchState.value = open === 0 ? null : { done: total - open, total };
}
