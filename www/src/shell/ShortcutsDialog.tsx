// All keys, by where they act.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { modifier } from "../state/platform.ts";
import { Dialog } from "./Dialog.tsx";

export const shortcutsOpen = signal(false);

const ANYWHERE: readonly [string, string][] = [
  ["2 3 4", "Flame graph, functions, call tree"],
  [`/ or ${modifier} F`, "Search; Enter and Shift Enter step, Esc leaves"],
  ["l", "DSOs"],
  ["e", "Events"],
  [`${modifier} O`, "Open files"],
  [`${modifier} S`, "Share"],
  [`${modifier} Z, ${modifier} Shift Z`, "Undo and redo a step of the view"],
  ["?", "This list"],
  ["Esc", "Close the topmost: dialog, search, selection"],
];

const IN_GRAPH: readonly [string, string][] = [
  ["↑ ↓ ← →", "Caller, heaviest callee, siblings"],
  ["Home, End", "Root, deepest hot leaf"],
  ["Enter", "Zoom into the selection"],
  ["Backspace, 0", "Zoom out by one, to all"],
  ["+ −, w s", "Magnify, and back"],
  ["Shift ← →", "Pan"],
  ["i", "Callees or inverted"],
  ["Alt", "Pin the card under the pointer"],
];

const IN_TABLES: readonly [string, string][] = [
  ["↑ ↓", "Rows"],
  ["→ ←, Enter", "Open and close a call"],
  ["*", "Open all below"],
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
        <div>
          <Keys title="Flame graph" rows={IN_GRAPH} />
          <Keys title="Call tree and functions" rows={IN_TABLES} />
        </div>
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
