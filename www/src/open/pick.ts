// Asking for files with the browser's picker.

import type { GivenFile } from "./given.ts";
import { keepSources } from "../views/source/sources.ts";
import { folderOf } from "./given.ts";

/** Opens the picker. Resolves to nothing if the user closes it. */
export function pickFiles(what: "files" | "folder"): Promise<GivenFile[]> {
  return pickWithInput(what);
}

/** Not in every browser. */
type Picker = Window & { showOpenFilePicker?: (options: { multiple: boolean }) => Promise<FileSystemFileHandle[]> };

/**
 * The same for a file that is to be found again another day: where the browser has such a picker, files come with handles.
 * Not for every choice: what hands out handles refuses folders of the system, where binaries and kernels lie.
 */
export async function pickRemembered(): Promise<GivenFile[]> {
  const { showOpenFilePicker } = window as Picker;
  if (showOpenFilePicker === undefined) {
    return pickWithInput("files");
  }
  try {
    const handles = await showOpenFilePicker.call(window, { multiple: true });
    return await Promise.all(handles.map(async (handle) => ({ file: await handle.getFile(), folder: "", handle })));
  } catch (error) {
    // The user closed it; what else goes wrong, as in a frame of another page, a plain picker may still do.
    return error instanceof DOMException && error.name === "AbortError" ? [] : pickWithInput("files");
  }
}

function pickWithInput(what: "files" | "folder"): Promise<GivenFile[]> {
  return new Promise((resolve) => {
    const input = document.createElement("input");
    input.type = "file";
    input.multiple = true;
    input.webkitdirectory = what === "folder";
    input.addEventListener("change", () => resolve([...(input.files ?? [])].map(picked)));
    input.addEventListener("cancel", () => resolve([]));
    input.click();
  });
}

/** With the path below a folder that was picked; of a file that was picked it is empty. */
function picked(file: File): GivenFile {
  return { file, folder: folderOf(file.webkitRelativePath) };
}

/** The same for files that may name code, which come one by one. What it was compiled from is kept. */
export async function pickBinaries(): Promise<File[]> {
  return keepSources(await pickFiles("files")).map(({ file }) => file);
}
