// A profile that was shared and came as a file: a saved page, or a text with a link in it; packed perhaps.

import { payloadOf } from "./failure.ts";
import { sniffBytes } from "./sniff.ts";

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

/** Its text, unpacked where it is packed; null for what is no text, and for what is too long. */
async function textOf(file: File, unpack: (file: File) => Promise<string | null>): Promise<string | null> {
  const head = new Uint8Array(await file.slice(0, HEAD).arrayBuffer());
  if (sniffBytes(head) === "compressed") {
    return file.size > LONGEST.page ? null : unpack(file);
  }
  const start = new TextDecoder().decode(head);
  return CONTROLS.test(start) || file.size > LONGEST[carrierOf(start)] ? null : file.text();
}

function carrierOf(text: string): SharedFile["carrier"] {
  return PAGE.test(text) ? "page" : "link";
}

/** The first that holds a profile; null if none does. `unpack` gives the text of a packed file that may hold one. */
export async function sharedAmong(
  files: readonly File[],
  unpack: (file: File) => Promise<string | null>,
): Promise<SharedFile | null> {
  for (const file of files.slice(0, MOST_FILES)) {
    try {
      const text = await textOf(file, unpack);
      if (text === null) {
        continue;
      }
      const carrier = carrierOf(text);
      const isShared = carrier === "page" ? text.includes(' id="profile"') : LINK.test(text) && payloadOf(text) !== null;
      if (isShared && text.length <= LONGEST[carrier]) {
        return { file, carrier, text };
      }
    } catch {
      // It vanished: whoever opens it says so.
    }
  }
  return null;
}
