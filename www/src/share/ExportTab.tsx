// Text for other tools.

import type { JSX } from "preact";
import { opened, query, session } from "../state/app.ts";
import { runTask } from "../state/tasks.ts";
import { toast } from "../state/toasts.ts";
import { Cancelled, SessionError, WorkerDied } from "../session/client.ts";
import { bytes } from "../state/format.ts";
import { fileNameFor, saveFile } from "./page.ts";

export function ExportTab(): JSX.Element {
  return (
    <div class="share-body single">
      <div class="share-main">
        <ul class="exports">
          <li>
            <div>
              <strong>Collapsed stacks</strong>
              <p class="ink-mute">
                One line a stack, for flamegraph.pl, inferno and speedscope. It cannot hold build-ids, source lines or times.
              </p>
            </div>
            <button type="button" onClick={() => void save()}>Save</button>
          </li>
        </ul>
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
    const text = await runTask("Exporting", (options) => present.call("exportCollapsed", { query: query.peek() }, options));
    const name = fileNameFor(opened.peek()?.name ?? "profile", "collapsed.txt");
    saveFile(text, name);
    toast("info", `Saved ${name}, ${bytes(text.size)}.`);
  } catch (error) {
    if (error instanceof SessionError) {
      toast("error", `The stacks could not be exported: ${error.message}.`);
    } else if (!(error instanceof Cancelled || error instanceof WorkerDied)) {
      throw error;
    }
  }
}
