// Asking for files with the browser's picker.

import type { Given } from "./given.ts";
import { folderOf } from "./given.ts";

/** Not in every browser; where it is, files come with handles, which lead back to them another day. */
type Picker = Window & { showOpenFilePicker?: (options: { multiple: boolean }) => Promise<FileSystemFileHandle[]> };

/** Opens the picker. Resolves to nothing if the user closes it. */
export function pickFiles(what: "files" | "folder"): Promise<Given[]> {
  const { showOpenFilePicker } = window as Picker;
  return what === "files" && showOpenFilePicker !== undefined ? pickHandles(showOpenFilePicker) : pickWithInput(what);
}

async function pickHandles(pick: NonNullable<Picker["showOpenFilePicker"]>): Promise<Given[]> {
  try {
    const handles = await pick.call(window, { multiple: true });
    return await Promise.all(handles.map(async (handle) => ({ file: await handle.getFile(), folder: "", handle })));
  } catch (error) {
    // The user closed it; what else goes wrong, as in a frame of another page, a plain picker may still do.
    return error instanceof DOMException && error.name === "AbortError" ? [] : pickWithInput("files");
  }
}

function pickWithInput(what: "files" | "folder"): Promise<Given[]> {
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
function picked(file: File): Given {
  return { file, folder: folderOf(file.webkitRelativePath) };
}

/** The same for files that may name code, which come one by one. */
export async function pickBinaries(): Promise<File[]> {
  return (await pickFiles("files")).map(({ file }) => file);
}
