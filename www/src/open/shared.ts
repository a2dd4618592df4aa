// A profile that was shared and came as a file: a saved page, or a text with a link in it.

import { payloadOf } from "./failure.ts";

export interface SharedFile {
  file: File;
  carrier: "link" | "page";
  text: string;
}

const HEAD = 4096;
/** Links are messages; pages hold the viewer beside the profile. */
const LONGEST = { link: 16e6, page: 256e6 } as const;
/** Of a folder full of other things no more are looked into. */
const MOST_FILES = 8;

const CONTROLS = /[\0-\x08\x0e-\x1f]/;
const PAGE = /^\uFEFF?\s*<(?:!doctype )?html/i;
/** More than the number of a heading, which may be a `#p1.` too. */
const LINK = /(?:^|#)p\d+\.[A-Za-z0-9_-]{12}/;

/** The first that holds a profile; null if none does. */
export async function sharedAmong(files: readonly File[]): Promise<SharedFile | null> {
  for (const file of files.slice(0, MOST_FILES)) {
    try {
      const head = await file.slice(0, HEAD).text();
      const carrier = PAGE.test(head) ? "page" : "link";
      if (CONTROLS.test(head) || file.size > LONGEST[carrier]) {
        continue;
      }
      const text = await file.text();
      const isShared = carrier === "page" ? text.includes(' id="profile"') : LINK.test(text) && payloadOf(text) !== null;
      if (isShared) {
        return { file, carrier, text };
      }
    } catch {
      // It vanished: whoever opens it says so.
    }
  }
  return null;
}
