// What was given: recordings, each of one file or of several, and files that may name their code.
//
// perf's directory form (`perf record --threads`) is a folder with `data`, which has the header, and a stream of records
// for each thread of the recorder, `data.0`, `data.1` and so on, which have none and mean nothing alone (tools/perf,
// data.c, perf_data__create_dir). Its files may come as a folder or picked one by one.

import type { Sniffed } from "./sniff.ts";

/** A file, and the path of the folder that it came in: empty for one that came by itself. */
export interface Given {
  file: File;
  folder: string;
}

/** What opens as one profile. */
export interface Recording {
  name: string;
  /** The file; of a folder `data` first, then its streams. */
  parts: readonly File[];
}

export interface Sorted {
  recordings: Recording[];
  binaries: File[];
  /** Archives and other files that may hold names. */
  candidates: File[];
  /** Whatever else. */
  others: File[];
}

/** "data.7" */
const STREAM = /^data\.(\d+)$/;

/** The recording that is this file alone. */
export function recordingOf(file: File): Recording {
  return { name: file.name, parts: [file] };
}

/** The size of all its parts. */
export function sizeOf({ parts }: Recording): number {
  return parts.reduce((sum, part) => sum + part.size, 0);
}

/** Splits what was given, given what each file is. The order within each part is kept. */
export function sortGiven(given: readonly Given[], kinds: readonly Sniffed[]): Sorted {
  const sorted: Sorted = { recordings: [], binaries: [], candidates: [], others: [] };
  const streams = streamsByFolder(given, kinds);
  const taken = new Set<File>();
  given.forEach(({ file, folder }, index) => {
    const kind = kinds[index] ?? "other";
    if (kind === "profile" && file.name === "data" && streams.has(folder)) {
      const parts = streams.get(folder) ?? [];
      parts.forEach((part) => taken.add(part));
      sorted.recordings.push({ name: lastOf(folder) || file.name, parts: [file, ...parts] });
    } else if (kind === "profile" || kind === "compressed") {
      sorted.recordings.push(recordingOf(file));
    } else {
      const { binaries, candidates, others } = sorted;
      (kind === "binary" ? binaries : kind === "candidate" ? candidates : others).push(file);
    }
  });
  sorted.others = sorted.others.filter((file) => !taken.has(file));
  return sorted;
}

/** In the order of their numbers. */
function streamsByFolder(given: readonly Given[], kinds: readonly Sniffed[]): Map<string, File[]> {
  const byFolder = new Map<string, File[]>();
  given.forEach(({ file, folder }, index) => {
    if (STREAM.test(file.name) && kinds[index] === "other") {
      byFolder.set(folder, [...(byFolder.get(folder) ?? []), file]);
    }
  });
  for (const files of byFolder.values()) {
    files.sort((a, b) => numberOf(a) - numberOf(b));
  }
  return byFolder;
}

function numberOf({ name }: File): number {
  return Number(STREAM.exec(name)?.[1] ?? 0);
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
