// The sample profile that the page carries: a recording, and the program that it is of. Opened like any other files.

import { signal } from "@preact/signals";
import { decodeBase64 } from "../session/base64.ts";
import { dataBlock, hasBlock } from "../session/data_block.ts";

/** Whether the page carries one. One that was saved with a profile has none, which shows when it is here to its end. */
export const hasSample = signal(true);

export async function findSample(): Promise<void> {
  hasSample.value = await hasBlock("sample");
}

/** The recording first, then what names it. */
export async function sampleFiles(): Promise<File[]> {
  const files = JSON.parse(await dataBlock("sample")) as [name: string, content: string][];
  return files.map(([name, content]) => new File([decodeBase64(content)], name));
}
