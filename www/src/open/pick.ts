// Asking for files: the browser's picker, and folders that were dropped.

/** Opens the picker. Resolves to nothing if the user closes it. */
export function pickFiles(what: "files" | "folder"): Promise<File[]> {
  return new Promise((resolve) => {
    const input = document.createElement("input");
    input.type = "file";
    input.multiple = true;
    input.webkitdirectory = what === "folder";
    input.addEventListener("change", () => resolve([...(input.files ?? [])]));
    input.addEventListener("cancel", () => resolve([]));
    input.click();
  });
}

/** A folder of more files than this is not a folder of binaries for one profile. */
const MOST_FILES = 20_000;

/** All files of a drop, folders opened. */
export async function filesOf(transfer: DataTransfer): Promise<File[]> {
  // Entries must be taken before the first await: the browser empties the list when the event ends.
  const entries = [...transfer.items].map((item) => (item.kind === "file" ? item.webkitGetAsEntry() : null));
  const plain = [...transfer.files];
  if (!entries.some((entry) => entry?.isDirectory)) {
    return plain;
  }
  const files: File[] = [];
  const open = entries.filter((entry) => entry !== null);
  for (let entry = open.shift(); entry !== undefined && files.length < MOST_FILES; entry = open.shift()) {
    if (entry.isDirectory) {
      open.push(...(await readFolder(entry as FileSystemDirectoryEntry)));
    } else {
      const file = await readEntry(entry as FileSystemFileEntry);
      if (file !== null) {
        files.push(file);
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
    const part = await new Promise<FileSystemEntry[]>((resolve) => reader.readEntries(resolve, () => resolve([])));
    if (part.length === 0) {
      return all;
    }
    all.push(...part);
  }
}

function readEntry(entry: FileSystemFileEntry): Promise<File | null> {
  return new Promise((resolve) => entry.file(resolve, () => resolve(null)));
}
