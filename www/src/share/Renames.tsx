// Patterns that rename or hide what they match, in every text of the link.

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { RenameText, SharedTexts } from "../session/types.ts";
import { session } from "../state/app.ts";
import { count } from "../state/format.ts";
import { rename, renamedIn, renames } from "./privacy.ts";

export function Renames({ texts }: { texts: SharedTexts | null }): JSX.Element {
  const renamed = texts === null ? 0 : renamedIn(texts);
  return (
    <fieldset class="renames">
      <legend>Rename or hide by pattern</legend>
      {renames.value.map((each, index) => (
        <RenameRow key={index} index={index} written={each} />
      ))}
      <p class="note" role="status">
        {renamed > 0
          ? `${count(renamed)} ${renamed === 1 ? "text" : "texts"} renamed. Equal names stay equal.`
          : "Regular expression. Matches are replaced in all texts, or hidden if the replacement is empty."}
      </p>
    </fieldset>
  );
}

function RenameRow({ index, written }: { index: number; written: RenameText }): JSX.Element {
  const wrong = useWrong(written.pattern);
  const problem = `rename-problem-${index}`;
  return (
    <div class="rename">
      <input
        type="text"
        spellcheck={false}
        placeholder="edge_auth::\w+"
        aria-label="Pattern"
        aria-invalid={wrong !== null}
        aria-describedby={wrong === null ? undefined : problem}
        value={written.pattern}
        onInput={(event) => rename(index, { ...written, pattern: event.currentTarget.value })}
      />
      <span class="ink-mute">shown as</span>
      <input
        type="text"
        spellcheck={false}
        placeholder="hidden"
        aria-label="Shown as"
        value={written.text}
        onInput={(event) => rename(index, { ...written, text: event.currentTarget.value })}
      />
      {wrong !== null && (
        <p id={problem} class="note ink-bad" role="alert">
          {wrong}
        </p>
      )}
    </div>
  );
}

/** Why a pattern cannot be used, in the session's words; null if it can. */
function useWrong(pattern: string): string | null {
  const [said, setSaid] = useState<{ pattern: string; wrong: string | null }>({ pattern: "", wrong: null });
  useEffect(() => {
    if (pattern === "") {
      return;
    }
    const pending = new AbortController();
    session
      .peek()
      ?.call("renameProblem", { pattern }, { signal: pending.signal })
      .then(
        (wrong) => setSaid({ pattern, wrong }),
        // What was asked for last is answered, or the session is gone.
        () => undefined,
      );
    return () => pending.abort();
  }, [pattern]);
  return said.pattern === pattern ? said.wrong : null;
}
