// The list of commands below the search field: every button and option by its name, with its key.

import { signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import type { Command } from "../state/commands.ts";
import { findCommands, keyWords } from "../state/commands.ts";

/** The element's id. */
export const LIST = "palette";
const MOST_SHOWN = 100;

/** Position of the chosen command. */
const at = signal(0);

export function resetPalette(): void {
  at.value = 0;
}

function found(text: string): Command[] {
  return findCommands(text).slice(0, MOST_SHOWN);
}

/** The id of the chosen one's element. */
export function activeOption(text: string): string | undefined {
  const chosen = found(text)[at.value];
  return chosen === undefined ? undefined : optionId(chosen);
}

function optionId({ id }: Command): string {
  return `command-${id.replace(/[^\w-]/g, "_")}`;
}

/** Whether the key was one of the list's. `done` is called before a command runs, so that it finds the page as it was. */
export function paletteKey(event: KeyboardEvent, text: string, done: () => void): boolean {
  const all = found(text);
  const steps: Record<string, number> = {
    ArrowDown: (at.peek() + 1) % Math.max(1, all.length),
    ArrowUp: (at.peek() + all.length - 1) % Math.max(1, all.length),
    PageDown: Math.min(all.length - 1, at.peek() + 10),
    PageUp: Math.max(0, at.peek() - 10),
  };
  const to = steps[event.key];
  const chosen = all[at.peek()];
  if (to !== undefined) {
    at.value = to;
    return true;
  }
  if (event.key === "Enter") {
    if (chosen !== undefined) {
      done();
      chosen.run?.();
    }
    return true;
  }
  return false;
}

export function Palette({ text, onDone }: { text: string; onDone: () => void }): JSX.Element {
  const all = found(text);
  return (
    <div class="search-panel palette">
      <ul role="listbox" id={LIST} aria-label="Commands">
        {all.map((command, index) => (
          <Option key={command.id} command={command} isChosen={index === at.value} onDone={onDone} />
        ))}
      </ul>
      {all.length === 0 && <p role="status">No command matches “{text.trim()}”.</p>}
    </div>
  );
}

function Option({ command, isChosen, onDone }: { command: Command; isChosen: boolean; onDone: () => void }): JSX.Element {
  const choose = (): void => {
    onDone();
    command.run?.();
  };
  return (
    <ListOption id={optionId(command)} isChosen={isChosen} onChoose={choose}>
      <span>{command.label}</span>
      <span class="palette-keys">
        {command.keys.map((key) => (
          <kbd key={key}>{keyWords(key)}</kbd>
        ))}
      </span>
    </ListOption>
  );
}

interface ListOptionProps {
  id: string;
  isChosen: boolean;
  onChoose: () => void;
  children: ComponentChildren;
}

/** One of a list below the field, which keeps the focus. */
export function ListOption({ id, isChosen, onChoose, children }: ListOptionProps): JSX.Element {
  return (
    <li
      id={id}
      role="option"
      aria-selected={isChosen}
      ref={(element) => {
        if (isChosen) {
          element?.scrollIntoView({ block: "nearest" });
        }
      }}
      onPointerDown={(event) => event.preventDefault()}
      onClick={onChoose}
    >
      {children}
    </li>
  );
}
