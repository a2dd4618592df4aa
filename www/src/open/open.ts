// Opening: one profile at a time, from a file, a link, this page itself or `perftab view`. What was open stays until the
// new one is there, so that Cancel and a failure lose nothing.

import { batch, effect, signal } from "@preact/signals";
import type { CallOptions } from "../session/client.ts";
import { Cancelled, SessionError, WorkerDied } from "../session/client.ts";
import type { Facts, ProfileInfo, SessionFailure, Trusted } from "../session/types.ts";
import { firstPicture } from "./first_picture.ts";
import { GrowingProfile } from "./growing.ts";
import { admitKnown, admitFiles, showFacts } from "../ledger/admit.ts";
import { cancelAll, fetchUnasked } from "../ledger/debuginfod.ts";
import { forgetSecond } from "../compare/second.ts";
import type { Origin, Phase } from "../state/app.ts";
import {
  comparison,
  info,
  isGrowing,
  linesOf,
  namesGeneration,
  opened,
  phase,
  pinnedThreads,
  query,
  session,
  shownThread,
  zoomRoot,
} from "../state/app.ts";
import { forgetProfile } from "../state/of_profile.ts";
import { DEFAULT_QUERY } from "../state/query_text.ts";
import type { SharedView, ViewState } from "../state/url.ts";
import { readView } from "../state/url.ts";
import { amendStep, apply, keepAddress, keepProfile } from "../state/history.ts";
import { TAKEN_OVER, takingOver } from "../state/take_over.ts";
import { runTask } from "../state/tasks.ts";
import { resetDock } from "../state/layout.ts";
import { toast } from "../state/toasts.ts";
import { answerable, listed } from "./answerable.ts";
import { describeFailure, isOfLink, payloadOf, viewOf } from "./failure.ts";
import type { GivenFile, Recording, SortedFiles } from "./given.ts";
import type { RecentFile } from "./recent.ts";
import { openedHandles } from "./recent.ts";
import { pickFiles } from "./pick.ts";
import { awaitIdle } from "../views/idle.ts";
import { isSource, keepSources } from "../views/source/sources.ts";
import { recordingOf, sizeOf, sortGiven } from "./given.ts";
import type { ServedProfile } from "./served.ts";
import { servedParts, servedSize, servedTrusted } from "./served.ts";
import type { SharedFile } from "./shared.ts";
import { sharedAmong } from "./shared.ts";
import { sniffAll } from "./sniff.ts";

/** Binaries that came before the profile that may want them. */
export const waiting = signal<readonly File[]>([]);
/** Recordings that were dropped together; one is to be chosen. */
export const choices = signal<readonly Recording[]>([]);

/** The name of what is being opened, or was when the worker died; null after it opened or failed. */
export const opening = signal<string | null>(null);

interface OpenRequest {
  name: string;
  bytes: number | null;
  origin: Origin;
  modified?: number | undefined;
  trusted?: Trusted | null;
  /** What the address holds from now on. */
  payload: string | null;
  /** How it is looked at; null to leave that to what is in it. */
  state: ViewState | null;
  /** The entries of the browser's history that are of it, where it was open before. */
  entry?: string;
  /** The way back to its files. */
  handles?: readonly FileSystemFileHandle[];
  read: (options: Required<CallOptions>) => Promise<Facts>;
}

/** Takes whatever was dropped or chosen: recordings open, the rest is offered to the profile. */
export async function takeFiles(given: readonly GivenFile[]): Promise<void> {
  // What a recording was compiled from is no recording, and nothing to name code by.
  const files = phase.peek().kind === "open" || !given.every(isSource) ? keepSources(given) : given;
  if (files.length === 0 && given.length > 0) {
    return;
  }
  const { recordings, binaries, candidates, others } = await sorted(files);
  const offered = [...binaries, ...candidates, ...others];
  const [recording, ...more] = recordings;
  const [other] = others;
  const shared = recording === undefined ? await sharedAmong(others, (file) => need().call("unpackText", { file })) : null;
  if (shared !== null) {
    waiting.value = [...waiting.value, ...offered.filter((file) => file !== shared.file)];
    await openShared(shared);
  } else if (recording === undefined && phase.value.kind === "open") {
    await admitFiles(offered);
  } else if (recording === undefined && offered.length === others.length && other !== undefined) {
    // Nothing that is known: opening it says what it is.
    await openRecording(recordingOf({ file: other, folder: "" }));
  } else {
    waiting.value = [...waiting.value, ...offered];
    if (recording !== undefined && more.length > 0) {
      choices.value = recordings;
    } else if (recording !== undefined) {
      await openRecording(recording);
    }
  }
}

async function sorted(given: readonly GivenFile[]): Promise<SortedFiles> {
  const kinds = await sniffAll(
    given.map(({ file }) => file),
    async (files) => {
      try {
        return await need().call("peek", { files });
      } catch (error) {
        if (error instanceof WorkerDied) {
          return [];
        }
        throw error;
      }
    },
  );
  return sortGiven(given, kinds);
}

export async function openRecording(
  recording: Recording,
  origin: "file" | "sample" = "file",
  again?: ReopenedEntry,
): Promise<void> {
  const { name, parts } = recording;
  choices.value = [];
  await open(
    {
      name,
      bytes: sizeOf(recording),
      origin,
      modified: origin === "file" ? parts[0]?.lastModified : undefined,
      payload: null,
      state: null,
      handles: recording.handles,
      read: (options) => need().call("open", { parts: [...parts] }, options),
      ...again,
    },
    (entry, state) => openRecording(recording, origin, { entry, state }),
  );
}

/** An entry of the browser's history that something is opened for again, and how it was looked at. */
interface ReopenedEntry {
  entry: string;
  state: ViewState;
}

/** How to open again what is open, or was before Back can lead to it: by its entries, newest last. */
const known = new Map<string, (entry: string, state: ViewState) => Promise<void>>();
/** Files that a tab holds on to are not in memory. */
const MOST_KNOWN = 20;

/** For Back and Forward: opens what an entry was of; false where this tab knows nothing of it. */
export function reopen(entry: string, state: ViewState): boolean {
  const again = known.get(entry);
  void again?.(entry, state);
  return again !== undefined;
}

/** What the page carries: a recording, and the program that it is of. */
export async function openSample([recording, ...binaries]: readonly File[]): Promise<void> {
  if (recording !== undefined) {
    waiting.value = [...waiting.value, ...binaries];
    await openRecording(recordingOf({ file: recording, folder: "" }), "sample");
  }
}

/** What was opened another day, under the name that it had. */
export async function openAgain({ name, handles }: RecentFile, parts: readonly File[]): Promise<void> {
  await openRecording({ name, parts, handles });
}

export async function openPayload(
  payload: string,
  origin: "link" | "page",
  state: ViewState | null,
  again?: ReopenedEntry,
): Promise<void> {
  await open(
    {
      name: origin === "link" ? "Profile from a link" : "Profile in this page",
      bytes: null,
      origin,
      payload: origin === "link" ? payload : null,
      state,
      read: (options) => need().call("openLink", { payload }, options),
      ...again,
    },
    (entry, at) => openPayload(payload, origin, at, { entry, state: at }),
  );
}

/** A link is what its address would be; a page has none but its file's name. */
async function openShared({ file, carrier, text }: SharedFile, again?: ReopenedEntry): Promise<void> {
  const payload = carrier === "link" ? payloadOf(text) : null;
  if (payload !== null) {
    await openPayload(payload, "link", viewOf(text));
    return;
  }
  await open(
    {
      name: file.name,
      bytes: file.size,
      origin: "page",
      payload: null,
      state: null,
      read: (options) => need().call("openLink", { payload: text }, options),
      ...again,
    },
    (entry, state) => openShared({ file, carrier, text }, { entry, state }),
  );
}

export async function openServed(profile: ServedProfile, again?: ReopenedEntry): Promise<void> {
  const parts = servedParts(profile);
  await open(
    {
      name: profile.name,
      bytes: servedSize(profile),
      origin: profile.carrier ?? "served",
      trusted: servedTrusted(profile),
      payload: null,
      state: null,
      read: (options) => need().call("openUrl", parts, options),
      ...again,
    },
    (entry, state) => openServed(profile, { entry, state }),
  );
}

function need(): NonNullable<typeof session.value> {
  const present = session.peek();
  if (present === null) {
    throw new WorkerDied("the session has not started");
  }
  return present;
}

type Again = (entry: string, state: ViewState) => Promise<void>;

/** What is opened last takes over from what is still being read. */
const begin = takingOver<SharedView | null | undefined>();

async function open(wanted: OpenRequest, again: Again): Promise<void> {
  const shown = await begin((abort) => read(wanted, again, abort));
  if (shown === undefined) {
    return;
  }
  try {
    if (wanted.state === null && shown !== null && shown.zoom.length > 0) {
      await zoomInto(shown.zoom);
    }
    await admitKnown();
    await admitWaiting();
    const mine = opened.peek();
    await firstPicture(need());
    if (opened.peek() === mine) {
      fetchUnasked();
    }
  } catch (error) {
    report(wanted.name, error);
  }
}

/**
 * Reads and shows it; the answer is how its sender looked at it, and undefined where it is not shown. What takes long is
 * shown before its end, and then once more with more of it: whoever cancels that keeps what was shown.
 */
async function read(wanted: OpenRequest, again: Again, abort: AbortController): Promise<SharedView | null | undefined> {
  const before = phase.peek();
  if (before.kind === "opening" || before.kind === "died") {
    return undefined;
  }
  if (before.kind === "empty" || before.kind === "arriving") {
    const screen = before.kind === "empty" ? "open-screen" : "skeleton";
    phase.value = { kind: "opening", name: wanted.name, screen };
  }
  opening.value = wanted.name;
  const growing = new GrowingProfile((facts) => show(wanted, again, facts, before));
  try {
    const readAll = (options: Required<CallOptions>): Promise<Facts> => wanted.read(growing.watching(options));
    const facts = await runTask(`Reading ${wanted.name}`, readAll, abort);
    await growing.end(facts);
    return senders(facts.info);
  } catch (error) {
    await growing.end(null);
    if (phase.peek().kind === "opening") {
      phase.value = before.kind === "arriving" ? { kind: "empty", failure: null } : before;
    }
    keepAddress();
    report(wanted.name, error);
    return growing.isShown && abort.signal.reason !== TAKEN_OVER ? null : undefined;
  }
}

/** Puts a profile, or the first of it that was read, in the place of what was open. */
function show(wanted: OpenRequest, again: Again, facts: Facts, before: Phase): void {
  batch(() => {
    forgetProfile();
    showFacts(need(), facts);
    openedHandles.value = wanted.handles ?? [];
    opened.value = {
      name: titleOf(info.peek()) ?? wanted.name,
      bytes: wanted.bytes,
      origin: wanted.origin,
      when: Date.now(),
      modified: wanted.modified ?? null,
      trusted: wanted.trusted ?? null,
    };
    resetDock();
    const state = wanted.state ?? senders(facts.info)?.state ?? null;
    if (state !== null) {
      showAsAsked(state, info.peek());
    } else if (before.kind === "open") {
      // What was filtered of another recording means nothing in this one.
      query.value = DEFAULT_QUERY;
      linesOf.value = null;
      shownThread.value = null;
      pinnedThreads.value = [];
      comparison.value = null;
    }
    const asked = query.peek();
    // An event that was asked for may have its first samples later.
    const event = isGrowing.peek() && state !== null ? asked.event : eventToShow(info.peek(), asked.event);
    query.value = { ...asked, event };
    awaitIdle(state === null ? "as remembered" : "as asked");
    cancelAll();
    forgetSecond();
    phase.value = { kind: "open" };
    opening.value = null;
  });
  const entry = wanted.entry ?? entryName(wanted);
  remember(entry, again);
  keepProfile(wanted.payload, entry);
}

/** What the sender of a link calls it; null for a recording, and where that was not told. */
function titleOf(profile: ProfileInfo | null): string | null {
  return profile?.title ?? null;
}

/** How the sender of a link looked at it; null for a recording, and where that was not told. */
function senders(profile: ProfileInfo | null): SharedView | null {
  return profile?.view == null ? null : readView(profile.view);
}

/** As far down as the way is in this profile, of which some calls may be folded. */
async function zoomInto(path: readonly string[]): Promise<void> {
  const place = { path: [...path], pathFrames: [] };
  const of = opened.peek();
  while (of === opened.peek()) {
    const renamed = nextNames();
    try {
      const found = await need().call("findCallNode", { query: query.peek(), place });
      if (of === opened.peek()) {
        amendStep(() => {
          zoomRoot.value = found;
        });
      }
      return;
    } catch (error) {
      if (!(error instanceof Cancelled)) {
        throw error;
      }
      // Names came first: the page is about to be told.
      await renamed;
    }
  }
}

/** Resolves when names have changed, or another profile is open. */
function nextNames(): Promise<void> {
  const before = namesGeneration.peek();
  return new Promise((resolve) => {
    const stop = effect(() => {
      if (namesGeneration.value !== before) {
        resolve();
        queueMicrotask(() => stop());
      }
    });
  });
}

/** Shows a profile as somebody looked at it, as far as it can be shown so. */
function showAsAsked(state: ViewState, profile: ProfileInfo | null): void {
  const { query: asked, without } = answerable(state.query, profile?.fidelity?.times ?? null);
  apply({ ...state, query: asked });
  if (without.length > 0) {
    toast("info", `The sender’s filter by ${listed(without)} is not applied: this link has no individual samples.`);
  }
}

function remember(entry: string, again: (entry: string, state: ViewState) => Promise<void>): void {
  known.delete(entry);
  known.set(entry, again);
  const [oldest] = known.keys();
  if (known.size > MOST_KNOWN && oldest !== undefined) {
    known.delete(oldest);
  }
}

/** Length and checksum of a payload, which it begins with. */
const HEADER_END = 15;

/** A file that was dropped is gone with the page; whatever else, a reload opens again. */
function entryName({ origin, name, payload }: OpenRequest): string {
  if (payload !== null) {
    return `link ${payload.slice(0, HEADER_END)}`;
  }
  return origin === "file" || origin === "sample" ? `file ${performance.timeOrigin + performance.now()}` : `${origin} ${name}`;
}

/** The event asked for if it has samples, else the recorded one with the most. */
function eventToShow(profile: ProfileInfo | null, asked: number): number {
  const events = profile?.events ?? [];
  const all = [...events, ...(profile?.derived_events ?? [])];
  if ((all[asked]?.samples ?? 0) > 0) {
    return asked;
  }
  let best = 0;
  events.forEach((event, index) => {
    if (event.samples > (events[best]?.samples ?? 0)) {
      best = index;
    }
  });
  return best;
}

async function admitWaiting(): Promise<void> {
  const files = waiting.value;
  waiting.value = [];
  if (files.length > 0) {
    await admitFiles(files);
  }
}

function report(name: string, error: unknown): void {
  if (error instanceof WorkerDied) {
    return;
  }
  opening.value = null;
  if (error instanceof Cancelled) {
    return;
  }
  const failure: SessionFailure = error instanceof SessionError ? error.failure : { kind: "unknown", message: String(error) };
  if (phase.peek().kind === "open") {
    const choose = (): void => void pickFiles("files").then(takeFiles);
    const words = describeFailure(name, failure);
    if (isOfLink(failure)) {
      toast("error", words);
    } else {
      toast("error", words, { label: "Choose another file", run: choose });
    }
  } else {
    phase.value = { kind: "empty", failure: { name, failure } };
  }
}
