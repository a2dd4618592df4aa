// What was given: recordings, each of one file or of several, and files that may name their code.
//
// perf's directory form (`perf record --threads`) is a folder with `data`, which has the header, and a stream of records
// for each thread of the recorder, `data.0`, `data.1` and so on, which have none and mean nothing alone (tools/perf,
// data.c, perf_data__create_dir). Its files may come as a folder or picked one by one.

import type { FileKind } from "./sniff.ts";

/** A file, and the path of the folder that it came in: empty for one that came by itself. */
export interface GivenFile {
  file: File;
  folder: string;
  /** Leads back to the file when the page was closed; where the browser has such handles. */
  handle?: FileSystemFileHandle;
}

/** What opens as one profile. */
export interface Recording {
  name: string;
  /** The file; of a folder `data` first, then its streams. */
  parts: readonly File[];
  /** One for each part, or none. */
  handles: readonly FileSystemFileHandle[];
}

export interface SortedFiles {
  recordings: Recording[];
  binaries: File[];
  /** Archives and other files that may hold names. */
  candidates: File[];
  /** Whatever else. */
  others: File[];
}

/** "data.7" */
const STREAM = /^data\.(\d+)$/;

/** The recording that is these files, under a name of its own. */
function recordingOfAll(name: string, given: readonly GivenFile[]): Recording {
  const handles = given.flatMap(({ handle }) => (handle === undefined ? [] : [handle]));
  return { name, parts: given.map(({ file }) => file), handles: handles.length === given.length ? handles : [] };
}

/** The recording that is this file alone. */
export function recordingOf(given: GivenFile): Recording {
  return recordingOfAll(given.file.name, [given]);
}

/** The size of all its parts. */
export function sizeOf({ parts }: Recording): number {
  return parts.reduce((sum, part) => sum + part.size, 0);
}

/** Splits what was given, given what each file is. The order within each part is kept. */
export function sortGiven(given: readonly GivenFile[], kinds: readonly FileKind[]): SortedFiles {
  const sorted: SortedFiles = { recordings: [], binaries: [], candidates: [], others: [] };
  const streams = streamsByFolder(given, kinds);
  const taken = new Set<File>();
  given.forEach((one, index) => {
    const { file, folder } = one;
    const kind = kinds[index] ?? "other";
    if (kind === "profile" && file.name === "data" && streams.has(folder)) {
      const parts = streams.get(folder) ?? [];
      parts.forEach((part) => taken.add(part.file));
      sorted.recordings.push(recordingOfAll(lastOf(folder) || file.name, [one, ...parts]));
    } else if (kind === "profile" || kind === "compressed") {
      sorted.recordings.push(recordingOf(one));
    } else {
      const { binaries, candidates, others } = sorted;
      (kind === "binary" ? binaries : kind === "candidate" ? candidates : others).push(file);
    }
  });
  sorted.others = sorted.others.filter((file) => !taken.has(file));
  return sorted;
}

/** In the order of their numbers. */
function streamsByFolder(given: readonly GivenFile[], kinds: readonly FileKind[]): Map<string, GivenFile[]> {
  const byFolder = new Map<string, GivenFile[]>();
  given.forEach((one, index) => {
    if (STREAM.test(one.file.name) && kinds[index] === "other") {
      byFolder.set(one.folder, [...(byFolder.get(one.folder) ?? []), one]);
    }
  });
  for (const files of byFolder.values()) {
    files.sort((a, b) => numberOf(a) - numberOf(b));
  }
  return byFolder;
}

function numberOf({ file }: GivenFile): number {
  return Number(STREAM.exec(file.name)?.[1] ?? 0);
}

/** True for a stream that came without the `data` that it belongs to. */
export function isStream(name: string): boolean {
  return STREAM.test(name);
}

/** The folder of a path: empty where it has none. */
export function folderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

function lastOf(folder: string): string {
  return folder.slice(folder.lastIndexOf("/") + 1);
}
