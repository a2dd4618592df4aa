// All keys, by where they act.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { Dialog } from "./Dialog.tsx";

export const shortcutsOpen = signal(false);

const ANYWHERE: readonly [string, string][] = [
  ["2 3 4", "Flame graph, functions, call tree"],
  ["/ or Ctrl F", "Search; Enter and Shift Enter step, Esc leaves"],
  ["l", "DSOs"],
  ["e", "Events"],
  ["Ctrl O", "Open files"],
  ["Ctrl S", "Share"],
  ["Ctrl Z, Ctrl Shift Z", "Undo and redo a step of the view"],
  ["?", "This list"],
  ["Esc", "Close the topmost: dialog, search, selection"],
];

const IN_VIEWS: readonly [string, string][] = [
  ["↑ ↓ ← →", "Caller, heaviest callee, siblings"],
  ["Home, End", "Root, deepest hot leaf"],
  ["Enter", "Zoom into the selection"],
  ["Backspace", "Zoom out by one"],
  ["0", "Zoom out to all"],
  ["+ −, w s", "Zoom in and out"],
  ["*", "Expand all below, in the call tree"],
  ["i", "Callees or inverted"],
];

export function ShortcutsDialog(): JSX.Element | null {
  if (!shortcutsOpen.value) {
    return null;
  }
  return (
    <Dialog
      title="Keyboard shortcuts"
      kind="shortcuts"
      onClose={() => {
        shortcutsOpen.value = false;
      }}
    >
      <div class="shortcuts-columns">
        <Keys title="Anywhere" rows={ANYWHERE} />
        <Keys title="In a view" rows={IN_VIEWS} />
      </div>
    </Dialog>
  );
}

function Keys({ title, rows }: { title: string; rows: readonly [string, string][] }): JSX.Element {
  return (
    <section>
      <h3>{title}</h3>
      <dl>
        {rows.map(([keys, what]) => (
          <div key={keys}>
            <dt><kbd>{keys}</kbd></dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
