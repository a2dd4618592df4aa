// The page as one file that works offline.

import type { JSX } from "preact";
import type { CallOptions, Session } from "../session/client.ts";
import { Holds } from "./Holds.tsx";
import { parts } from "./links.ts";
import { pageWith } from "./page.ts";
import { Readable } from "./Readable.tsx";
import { SaveButton } from "./save.tsx";

/** A file has no limit that matters. */
const NO_LIMIT = 0x7fff_ffff;

export function PageTab(): JSX.Element {
  return (
    <div class="share-body">
      <div class="share-main">
        <p>
          One .html file that holds this page and the profile. It opens in any browser, from a disk, offline, and shows what
          you see here: names, totals and the ledger.
        </p>
        <p>
          It keeps every call. Code that has no name yet stays as addresses, and a binary dropped on the page later still
          names it.
        </p>
        <Holds what="whole" />
        <SaveButton label="Save as one HTML page" kind="primary tall" ending="html" make={makePage} />
      </div>
      <Readable />
    </div>
  );
}

async function makePage(session: Session, options: CallOptions): Promise<Blob> {
  const { payload } = await session.call("share", { budget: NO_LIMIT, base: "", parts: parts.peek() }, options);
  return new Blob([pageWith(document, payload)], { type: "text/html" });
}
