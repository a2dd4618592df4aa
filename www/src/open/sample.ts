// The sample profile that the page carries: a recording, and the program that it is of. Opened like any other files.

import { dataBlock } from "../session/start.ts";

/** The recording first, then what names it; none where the page carries no sample, as one that was saved with a profile. */
export function sampleFiles(): File[] {
  const block = dataBlock("sample");
  const files = block === null ? [] : (JSON.parse(block) as [name: string, content: string][]);
  return files.map(([name, content]) => new File([decoded(content)], name));
}

export function hasSample(): boolean {
  return dataBlock("sample") !== null;
}

function decoded(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}
