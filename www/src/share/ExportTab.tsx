// Text for other tools.

import type { JSX } from "preact";
import { forcedRows, query } from "../state/app.ts";
import { Holds } from "./Holds.tsx";
import { SaveButton } from "./save.tsx";

export function ExportTab(): JSX.Element {
  return (
    <div class="share-body single">
      <div class="share-main">
        <ul class="exports">
          <li>
            <strong>Collapsed stacks</strong>
            <p class="ink-mute">
              One line a stack, for flamegraph.pl, inferno and speedscope. It cannot hold build-ids, source lines or times.
              {forcedRows.value.length > 0 && " A forced name is written as [forced] name."}
            </p>
            <Holds what="shown" />
            <SaveButton
              label="Save as text"
              kind=""
              ending="collapsed.txt"
              make={(session, options) => session.call("exportCollapsed", { query: query.peek() }, options)}
            />
          </li>
        </ul>
      </div>
    </div>
  );
}
