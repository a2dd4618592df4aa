// All keys, by where they act, from the table of commands.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import type { Command } from "../state/commands.ts";
import { commands, keyWords } from "../state/commands.ts";
import { singleKeys } from "../state/single_keys.ts";
import { Dialog } from "./Dialog.tsx";

export const shortcutsOpen = signal(false);

export function ShortcutsDialog(): JSX.Element | null {
  if (!shortcutsOpen.value) {
    return null;
  }
  const withKeys = commands.value.filter(({ keys }) => keys.length > 0);
  const of = (scope: Command["scope"]): Command[] => withKeys.filter((command) => command.scope === scope);
  return (
    <Dialog
      title="Keyboard shortcuts"
      kind="shortcuts"
      onClose={() => {
        shortcutsOpen.value = false;
      }}
    >
      <div class="shortcuts-columns">
        <div>
          <Keys title="Anywhere" of={of("anywhere")} />
          <SingleKeys />
        </div>
        <div>
          <Keys title="In the flame graph, call tree and functions" of={of("code")} />
          <Keys title="In the timeline and heat map" of={of("time")} />
        </div>
      </div>
    </Dialog>
  );
}

function Keys({ title, of }: { title: string; of: readonly Command[] }): JSX.Element {
  return (
    <section>
      <h3>{title}</h3>
      <dl>
        {of.map(({ id, label, keys }) => (
          <div key={id}>
            <dt>
              {keys.map((key) => (
                <kbd key={key}>{keyWords(key)}</kbd>
              ))}
            </dt>
            <dd>{label}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

/** Whoever speaks to the computer, or types without aiming, may not want them. */
function SingleKeys(): JSX.Element {
  return (
    <label class="single-keys">
      <input
        type="checkbox"
        checked={singleKeys.value === "on"}
        onChange={(event) => {
          singleKeys.value = event.currentTarget.checked ? "on" : "off";
        }}
      />
      Single-key shortcuts
    </label>
  );
}
