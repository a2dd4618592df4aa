// What whoever opens the link or the page can read: ticks for what may stay behind, patterns that rename, and every text
// that is in it.

import type { JSX } from "preact";
import { forcedRows } from "../state/app.ts";
import { count } from "../state/format.ts";
import { Icon } from "../shell/icons.tsx";
import type { LinkState } from "./links.ts";
import { sharedIn } from "./pages.ts";
import { isIncluded, setIncluded, TICKS, whatLacks } from "./privacy.ts";
import { Renames } from "./Renames.tsx";
import { TextList } from "./TextList.tsx";

interface ReadableProps {
  /** "link" or "page". */
  of: "link" | "page";
  /** What is in it, or was before. */
  made: LinkState;
}

export function Readable({ of, made }: ReadableProps): JSX.Element {
  const texts = sharedIn(made)?.texts ?? null;
  const lacks = made.kind === "made" ? whatLacks(made.shared.texts) : null;
  return (
    <aside class="share-side" aria-label="What readers can see">
      {forcedRows.value.length > 0 && (
        <p class="ink-guru">
          <strong>≠ Names in {forcedRows.value.map(({ name }) => name).join(", ")} are forced.</strong> Readers see the banner and
          the marks too.
        </p>
      )}
      <fieldset class="ticks">
        <legend>Readers can see</legend>
        <p class="note">Untick what to leave out. The {of} is updated.</p>
        <ul>
          {TICKS.filter(({ isThere }) => isThere === undefined || (texts !== null && isThere(texts))).map(
            ({ part, label, count: counted }) => {
              const number = texts === null ? null : counted(texts);
              return (
                <li key={part}>
                  <label>
                    <input
                      type="checkbox"
                      checked={isIncluded(part)}
                      onChange={(event) => setIncluded(part, event.currentTarget.checked)}
                    />
                    {label}
                    {number !== null && <span class="number push-right ink-mute">{count(number)}</span>}
                  </label>
                </li>
              );
            },
          )}
        </ul>
        {lacks !== null && (
          <p class="note" role="note">
            {lacks}
          </p>
        )}
      </fieldset>
      <Renames texts={texts} />
      <TextList of={of} texts={texts} />
      <p class="caution">
        <Icon name="warning" size={14} /> A {of} cannot be taken back. Anyone who has it can open it.
      </p>
    </aside>
  );
}
