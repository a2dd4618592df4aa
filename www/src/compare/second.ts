// The second profile: opened beside the first, with names from the same files and the same servers.

import { batch, computed, effect, untracked } from "@preact/signals";
import { admitKnown, refreshNames } from "../ledger/admit.ts";
import { askServer, isFetchable, serversFor } from "../ledger/debuginfod.ts";
import { servers } from "../ledger/servers.ts";
import { describeFailure } from "../open/failure.ts";
import type { GivenFile, Recording } from "../open/given.ts";
import { recordingOf, sizeOf } from "../open/given.ts";
import type { ServedProfile } from "../open/served.ts";
import { servedParts, servedSize } from "../open/served.ts";
import type { CallOptions, Session } from "../session/client.ts";
import { Cancelled, SessionError, WorkerDied } from "../session/client.ts";
import type { DsoRow, ProfileInfo, Server } from "../session/types.ts";
import { comparison, opened, phase, session } from "../state/app.ts";
import { amendStep, step } from "../state/history.ts";
import { takingOver } from "../state/take_over.ts";
import { runTask } from "../state/tasks.ts";
import { toast } from "../state/toasts.ts";
import { DEFAULT_COMPARISON, forgetPlaces, second } from "./state.ts";

/** Opens a recording beside the one that is open and compares them: it is the one after. */
export async function compareWithRecording(recording: Recording): Promise<void> {
  const { name, parts } = recording;
  await compareWith(name, sizeOf(recording), (present, options) => present.call("openSecond", { parts: [...parts] }, options));
}

/** The first file that was chosen. */
export async function compareWithFiles(given: readonly GivenFile[]): Promise<void> {
  const [one] = given;
  if (one !== undefined) {
    await compareWithRecording(recordingOf(one));
  }
}

export async function compareWithServed(profile: ServedProfile): Promise<void> {
  const served = servedParts(profile);
  await compareWith(profile.name, servedSize(profile), (present, options) => present.call("openSecondUrl", served, options));
}

/** The second profile that was compared before, once more. */
export function compareAgain(): void {
  if (second.peek() !== null) {
    step(() => {
      comparison.value = { ...DEFAULT_COMPARISON, with: "second" };
    });
  }
}

/** What is chosen last takes over from what is still being read. */
const begin = takingOver<boolean>();
/** Stops what is being read. */
let reading: AbortController | null = null;

type OpenSecond = (present: Session, options: Required<CallOptions>) => Promise<ProfileInfo>;

async function compareWith(name: string, bytes: number | null, open: OpenSecond): Promise<void> {
  const present = session.peek();
  // It is compared with this one only, and not with what may have been opened by the time it is read.
  const first = opened.peek();
  if (present === null) {
    return;
  }
  try {
    const isThere = await begin(async (abort) => {
      if (opened.peek() !== first) {
        return false;
      }
      reading = abort;
      const info = await runTask(`Reading ${name}`, (options) => open(present, options), abort);
      if (opened.peek() !== first) {
        return false;
      }
      batch(() => {
        second.value = { name, bytes, info, coverage: null };
        forgetPlaces();
      });
      return true;
    });
    if (isThere !== true) {
      return;
    }
    await refreshNames();
    if (opened.peek() !== first) {
      return;
    }
    step(() => {
      comparison.value = { ...DEFAULT_COMPARISON, with: "second" };
    });
    await admitKnown();
    await fetchForSecond(servers.peek().filter(({ kind }) => kind === "this-machine"));
  } catch (error) {
    if (error instanceof SessionError) {
      toast("error", describeFailure(name, error.failure));
    } else if (!(error instanceof Cancelled || error instanceof WorkerDied)) {
      throw error;
    }
  }
}

/** Another profile was opened: what was compared with the former, or was to be, is gone from the session too. */
export function forgetSecond(): void {
  reading?.abort();
  if (second.peek() === null) {
    return;
  }
  batch(() => {
    second.value = null;
    forgetPlaces();
    if (comparison.peek()?.with === "second") {
      comparison.value = null;
    }
  });
}

/** DSOs of the second profile that servers could name, most samples first. */
export const fetchableForSecond = computed<readonly DsoRow[]>(() => {
  const rows = second.value?.info.dsos ?? [];
  const wanted = rows.filter(isFetchable);
  const isFirst = (row: DsoRow): boolean => wanted.findIndex((other) => other.build_id === row.build_id) === wanted.indexOf(row);
  return wanted.filter(isFirst);
});

/** Asks these servers for the second profile's names, one build after the other. */
export async function fetchForSecond(asked: readonly Server[]): Promise<void> {
  if (asked.length === 0 || fetchableForSecond.peek().length === 0) {
    return;
  }
  await runTask("Fetching names", async (options) => {
    for (const row of fetchableForSecond.peek()) {
      await fetchOne(row, asked, options);
    }
  });
  await refreshNames();
}

async function fetchOne(row: DsoRow, asked: readonly Server[], options: Required<CallOptions>): Promise<void> {
  for (const server of serversFor(row).filter((each) => asked.includes(each))) {
    const answers = await askServer(row, { server, which: "second" }, options);
    if (answers.some(({ outcome }) => outcome === "found")) {
      return;
    }
  }
}

/** An address, or a step back, may ask for a second profile that is not here. Call once. */
export function followComparison(): void {
  effect(() => {
    if (phase.value.kind === "open" && comparison.value?.with === "second" && second.value === null) {
      untracked(() => {
        amendStep(() => {
          comparison.value = null;
        });
        toast("info", "The address does not include the second profile. Use Compare… to open it again.");
      });
    }
  });
}
