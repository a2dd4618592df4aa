// What was opened lately: name, size, events and how much had names, in the browser's own database, and nothing of what is
// in it. Where the browser hands out file handles, a handle leads back to the file, which it asks the user about; where it
// does not, the user chooses the file again. Links, saved pages and what `perftab view` serves are not remembered: they
// have addresses.
//
// A browser that refuses to store costs the memory of these, and nothing else.

import { effect, signal } from "@preact/signals";
import { coverageParts } from "../ledger/coverage.ts";
import { coverage, info, opened } from "../state/app.ts";

export interface RecentFile {
  /** Name and size: what was opened twice stands here once. */
  key: string;
  name: string;
  bytes: number;
  samples: number;
  events: string[];
  /** Percent of samples that end in a named frame. */
  named: number;
  /** `Date.now()` when it was opened. */
  when: number;
  /** Of each of its files; empty where the browser has none. */
  handles: FileSystemFileHandle[];
}

/** Newest first. */
export const recent = signal<readonly RecentFile[]>([]);

/** Handles of what is open now; set before the profile is. */
export const openedHandles = signal<readonly FileSystemFileHandle[]>([]);

const MOST = 8;
const DATABASE = "perftab";
const STORE = "recent";

/** Reads what is there, and from now on remembers each file that is opened. Call once. */
export function followRecent(): void {
  void load();
  effect(() => {
    const [file, profile, covered] = [opened.value, info.value, coverage.value];
    if (file === null || file.origin !== "file" || profile === null || covered === null) {
      return;
    }
    const key = `${file.name} ${file.bytes ?? 0}`;
    void keep({
      key,
      name: file.name,
      bytes: file.bytes ?? 0,
      samples: profile.samples,
      events: profile.events.filter(({ samples }) => samples > 0).map(({ name }) => name),
      named: coverageParts(covered).find(({ status }) => status === "named")?.percent ?? 0,
      when: file.when,
      handles: [...openedHandles.peek()],
    });
  });
}

export async function clearRecent(): Promise<void> {
  // Gone from the screen when it is gone.
  await within("readwrite", (store) => store.clear());
  recent.value = [];
}

/** The file is not where it was, or may not be read: from now on it is chosen again. */
export async function forgetHandles(file: RecentFile): Promise<void> {
  await keep({ ...file, handles: [] });
}

/** The files behind the handles, once the user has allowed it; null where one is gone or refused. */
export async function filesBehind({ handles }: RecentFile): Promise<File[] | null> {
  try {
    const files: File[] = [];
    for (const handle of handles as readonly Askable[]) {
      // Must be the first question of a click: a browser asks the user only then.
      if ((await handle.requestPermission?.({ mode: "read" })) === "denied") {
        return null;
      }
      files.push(await handle.getFile());
    }
    return files.length === 0 ? null : files;
  } catch {
    return null;
  }
}

/** Not in the types of every browser yet. */
type Askable = FileSystemFileHandle & { requestPermission?: (what: { mode: "read" }) => Promise<PermissionState> };

async function keep(file: RecentFile): Promise<void> {
  const before = recent.peek();
  const known = before.find(({ key }) => key === file.key);
  // What is said of the file that is open changes with its names; it stays where it is.
  const all =
    known?.when === file.when
      ? before.map((each) => (each === known ? file : each))
      : [file, ...before.filter((each) => each !== known)];
  recent.value = all.slice(0, MOST);
  await within("readwrite", (store) => {
    all.slice(MOST).forEach(({ key }) => store.delete(key));
    return store.put(file);
  });
}

async function load(): Promise<void> {
  const stored = await within("readonly", (store) => store.getAll() as IDBRequest<RecentFile[]>);
  const known = new Set(recent.peek().map(({ key }) => key));
  const older = (stored ?? []).filter(({ key }) => !known.has(key)).sort((a, b) => b.when - a.when);
  recent.value = [...recent.peek(), ...older].slice(0, MOST);
}

/** One transaction; undefined where there is no database to be had. */
async function within<T>(mode: IDBTransactionMode, ask: (store: IDBObjectStore) => IDBRequest<T>): Promise<T | undefined> {
  try {
    const database = await promised(openDatabase());
    try {
      return await promised(ask(database.transaction(STORE, mode).objectStore(STORE)));
    } finally {
      database.close();
    }
  } catch {
    return undefined;
  }
}

function openDatabase(): IDBOpenDBRequest {
  const request = indexedDB.open(DATABASE, 1);
  request.addEventListener("upgradeneeded", () => {
    request.result.createObjectStore(STORE, { keyPath: "key" });
  });
  return request;
}

function promised<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.addEventListener("success", () => resolve(request.result));
    request.addEventListener("error", () => reject(request.error ?? new Error("the database gave no reason")));
  });
}

const DAY = 86_400_000;

/** "today 14:02", "yesterday", "Mon" within a week, "12 May" within a year, "12 May 2025". */
export function describeDay(when: number, now: number): string {
  const date = new Date(when);
  const days = Math.round((startOfDay(now) - startOfDay(when)) / DAY);
  if (days <= 0) {
    return `today ${String(date.getHours()).padStart(2, "0")}:${String(date.getMinutes()).padStart(2, "0")}`;
  }
  if (days === 1) {
    return "yesterday";
  }
  if (days < 7) {
    return date.toLocaleDateString("en-GB", { weekday: "short" });
  }
  const sameYear = date.getFullYear() === new Date(now).getFullYear();
  return date.toLocaleDateString("en-GB", { day: "numeric", month: "short", ...(sameYear ? {} : { year: "numeric" }) });
}

function startOfDay(time: number): number {
  return new Date(time).setHours(0, 0, 0, 0);
}
