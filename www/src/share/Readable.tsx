// What whoever opens the link or the page can read, and the ticks for what may stay behind.

import type { ComponentChildren, JSX } from "preact";
import type { SharedParts } from "../session/types.ts";
import { forcedRows } from "../state/app.ts";
import { parts } from "./links.ts";

export function Readable({ children }: { children?: ComponentChildren }): JSX.Element {
  return (
    <aside class="share-side">
      {forcedRows.value.length > 0 && (
        <p class="ink-guru">
          <strong>≠ Names of {forcedRows.value.map(({ name }) => name).join(", ")} are forced.</strong> Whoever opens it sees
          the banner and the marks too.
        </p>
      )}
      <h3>Who opens it can read</h3>
      <ul class="plain-list">
        <Told>Function names of the calls that are kept</Told>
        <Told>DSO names and their build-ids</Told>
        <Told>Process and thread names</Told>
        <Told>Events, counts, first and last time</Told>
        <MayTell part="folders">Folders of DSOs and sources</MayTell>
        <MayTell part="host">Host name, kernel and command line</MayTell>
      </ul>
      {children}
    </aside>
  );
}

/** Without these it would be no profile. */
function Told({ children }: { children: ComponentChildren }): JSX.Element {
  return (
    <li>
      <label><input type="checkbox" checked disabled /> {children}</label>
    </li>
  );
}

function MayTell({ part, children }: { part: keyof SharedParts; children: ComponentChildren }): JSX.Element {
  return (
    <li>
      <label>
        <input
          type="checkbox"
          checked={parts.value[part]}
          onChange={(event) => {
            parts.value = { ...parts.value, [part]: event.currentTarget.checked };
          }}
        />{" "}
        {children}
      </label>
    </li>
  );
}
