// Asking for files with the browser's picker.

import type { Given } from "./given.ts";
import { folderOf } from "./given.ts";

/** Opens the picker. Resolves to nothing if the user closes it. */
export function pickFiles(what: "files" | "folder"): Promise<Given[]> {
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
