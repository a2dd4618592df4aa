// The page as one file that works offline.

import type { JSX } from "preact";
import { opened, session } from "../state/app.ts";
import { runTask } from "../state/tasks.ts";
import { toast } from "../state/toasts.ts";
import { Cancelled, SessionError, WorkerDied } from "../session/client.ts";
import { bytes } from "../state/format.ts";
import { parts } from "./links.ts";
import { fileNameFor, pageWith, saveFile } from "./page.ts";

/** A file has no limit that matters: every call is kept. */
const NO_LIMIT = 0x7fff_ffff;

export function PageTab(): JSX.Element {
  return (
    <div class="share-body single">
      <div class="share-main">
        <p>
          One .html file that holds this page and the profile. It opens in any browser, from a disk, offline, and shows what
          you see here: names, totals and the ledger.
        </p>
        <p class="ink-mute">
          It keeps every call. Code that has no name yet stays as addresses, and a binary dropped on the page later still
          names it.
        </p>
        <p class="button-row">
          <button type="button" class="primary tall" onClick={() => void save()}>Save as one HTML page</button>
        </p>
      </div>
    </div>
  );
}

async function save(): Promise<void> {
  const present = session.peek();
  if (present === null) {
    return;
  }
  try {
    const { payload } = await runTask("Making the page", (options) =>
      present.call("share", { budget: NO_LIMIT, base: "", parts: parts.peek() }, options),
    );
    const page = new Blob([pageWith(document, payload)], { type: "text/html" });
    const name = fileNameFor(opened.peek()?.name ?? "profile", "html");
    saveFile(page, name);
    toast("info", `Saved ${name}, ${bytes(page.size)}.`);
  } catch (error) {
    if (error instanceof SessionError) {
      toast("error", `The page could not be made: ${error.message}.`);
    } else if (!(error instanceof Cancelled || error instanceof WorkerDied)) {
      throw error;
    }
  }
}
