// The files of a drop, folders opened.
//
// Two interfaces read a dropped folder. Entries are in every browser, but Chromium reads none of them for a page that was
// opened from disk; handles are in Chromium only, and there they serve such a page too.

import type { GivenFile } from "./given.ts";
import { folderOf } from "./given.ts";

/** A folder of more files than this is not a folder of binaries for one profile. */
const MOST_FILES = 20_000;

/** What is not in the types of every browser yet. */
interface HandleItem {
  getAsFileSystemHandle?: () => Promise<FileSystemHandle | null>;
}

type Handles = FileSystemDirectoryHandle & { values: () => AsyncIterable<FileSystemHandle> };

/** All files; rejects where the browser lets no page read a folder that is among them. */
export async function filesOf(transfer: DataTransfer): Promise<GivenFile[]> {
  // All must be taken before the first await: the browser empties the list when the event ends.
  const items = [...transfer.items].filter((item) => item.kind === "file");
  const plain = [...transfer.files];
  const entries = items.map((item) => item.webkitGetAsEntry());
  const handles = items.map((item) => (item as HandleItem).getAsFileSystemHandle?.().catch(() => null));
  if (!entries.some((entry) => entry?.isDirectory)) {
    const found = await Promise.all(handles);
    return plain.map((file, index) => withHandle(file, "", found[index]));
  }
  try {
    return await filesOfEntries(entries.filter((entry) => entry !== null));
  } catch (error) {
    const open = (await Promise.all(handles)).filter((handle) => handle != null);
    if (open.length === 0) {
      throw error;
    }
    return filesOfHandles(open);
  }
}

function withHandle(file: File, folder: string, handle: FileSystemHandle | null | undefined): GivenFile {
  return handle?.kind === "file" ? { file, folder, handle: handle as FileSystemFileHandle } : { file, folder };
}

async function filesOfEntries(open: FileSystemEntry[]): Promise<GivenFile[]> {
  const files: GivenFile[] = [];
  for (let entry = open.shift(); entry !== undefined && files.length < MOST_FILES; entry = open.shift()) {
    if (entry.isDirectory) {
      const inside = readFolder(entry as FileSystemDirectoryEntry);
      const isDropped = folderOf(entry.fullPath) === "";
      open.push(...(await (isDropped ? inside : inside.catch(() => []))));
    } else {
      const file = await readEntry(entry as FileSystemFileEntry);
      if (file !== null) {
        files.push({ file, folder: folderOf(entry.fullPath) });
      }
    }
  }
  return files;
}

async function readFolder(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const all: FileSystemEntry[] = [];
  for (;;) {
    // A browser hands over a folder in parts; an empty one is the last.
    const part = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (part.length === 0) {
      return all;
    }
    all.push(...part);
  }
}

/** What cannot be read within a dropped folder is passed over: it may be a socket, or gone. */
function readEntry(entry: FileSystemFileEntry): Promise<File | null> {
  return new Promise((resolve) => entry.file(resolve, () => resolve(null)));
}

async function filesOfHandles(handles: FileSystemHandle[]): Promise<GivenFile[]> {
  const files: GivenFile[] = [];
  const open = handles.map((handle) => ({ handle, folder: "" }));
  for (let next = open.shift(); next !== undefined && files.length < MOST_FILES; next = open.shift()) {
    const { handle, folder } = next;
    if (handle.kind === "directory") {
      const inside = await insideOf(handle as Handles).catch(() => []);
      open.push(...inside.map((each) => ({ handle: each, folder: `${folder}/${handle.name}` })));
    } else {
      const file = await (handle as FileSystemFileHandle).getFile().catch(() => null);
      if (file !== null) {
        files.push(withHandle(file, folder, handle));
      }
    }
  }
  return files;
}

async function insideOf(folder: Handles): Promise<FileSystemHandle[]> {
  const all: FileSystemHandle[] = [];
  for await (const handle of folder.values()) {
    all.push(handle);
  }
  return all;
}
