// Everything the page can be told to do, in one table: what a key does, what the palette finds, what the list of all keys
// says, and what tooltips name come from it. Areas register theirs when the page starts.

import { signal } from "@preact/signals";
import { isMac } from "./platform.ts";
import { singleKeys } from "./single_keys.ts";

/** Where a key acts: anywhere, where code has the focus, or where time has it. */
export type Scope = "anywhere" | "code" | "time";

export interface Command {
  id: string;
  /** What it does, as a button would say it. */
  label: string;
  /**
   * As `KeyboardEvent.key` has them, with `Mod+` for Ctrl, on a Mac Cmd, and `Shift+` where the key alone does not tell:
   * "Mod+Shift+z", "F", "?". The first is shown where there is room for one.
   */
  keys: readonly string[];
  scope: Scope;
  /** Under which head the list of all keys has it. */
  group: string;
  /** null where the element that has the focus does it by itself; it is only listed then. */
  run: (() => void) | null;
  /** False where it would do nothing now; absent for always. */
  isOffered?: () => boolean;
}

export const commands = signal<readonly Command[]>([]);

/** Adds commands; those of the same id take the place of former ones. */
export function registerCommands(added: readonly Command[]): void {
  const ids = new Set(added.map(({ id }) => id));
  commands.value = [...commands.peek().filter(({ id }) => !ids.has(id)), ...added];
}

/** The little of a KeyboardEvent that decides. */
export interface PressedKey {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
  shiftKey: boolean;
}

/** Whether a key that was pressed is `wanted`. */
export function isKey(pressed: PressedKey, wanted: string): boolean {
  const parts = wanted.split("+");
  // "+" itself is a key.
  const key = wanted === "+" ? "+" : (parts.at(-1) ?? "");
  const modifiers = wanted === "+" ? [] : parts.slice(0, -1);
  const command = isMac ? pressed.metaKey : pressed.ctrlKey;
  const other = isMac ? pressed.ctrlKey : pressed.metaKey;
  if (command !== modifiers.includes("Mod") || other || pressed.altKey) {
    return false;
  }
  if (modifiers.includes("Mod") || key.length > 1) {
    // Caps Lock, or Shift, gives another case.
    return pressed.shiftKey === modifiers.includes("Shift") && pressed.key.toLowerCase() === key.toLowerCase();
  }
  return pressed.key === key;
}

function canRun({ run, isOffered }: Command): boolean {
  return run !== null && (isOffered?.() ?? true);
}

/** The command that a key means where `focus` is; null for none. */
export function commandFor(pressed: PressedKey, focus: Exclude<Scope, "anywhere">): Command | null {
  const isHere = ({ scope }: Command): boolean => scope === "anywhere" || scope === focus;
  const fits = (command: Command): boolean =>
    isHere(command) && command.keys.some((key) => isKey(pressed, key)) && canRun(command);
  return commands.peek().find(fits) ?? null;
}

/** True for a key that the user switched off: letters, digits and signs without Ctrl. */
export function isSwitchedOff(pressed: PressedKey): boolean {
  const isSign = pressed.key.length === 1 && pressed.key !== " ";
  return singleKeys.peek() === "off" && isSign && !pressed.ctrlKey && !pressed.metaKey && !pressed.altKey;
}

const WORDS: Record<string, string> = {
  Mod: isMac ? "Cmd" : "Ctrl",
  ArrowUp: "↑",
  ArrowDown: "↓",
  ArrowLeft: "←",
  ArrowRight: "→",
  Escape: "Esc",
  "-": "−",
};

/** "Ctrl Shift Z" */
export function keyWords(key: string): string {
  if (key === "+") {
    return key;
  }
  const parts = key.split("+");
  return parts.map((part) => WORDS[part] ?? (parts.length > 1 && part.length === 1 ? part.toUpperCase() : part)).join(" ");
}

/** The key that a tooltip names; empty where there is none, or where it is switched off. */
export function keyOf(id: string): string {
  const key = commands.value.find((command) => command.id === id)?.keys[0];
  const isOff = key !== undefined && key.length === 1 && singleKeys.value === "off";
  return key === undefined || isOff ? "" : keyWords(key);
}

/** "Share (Ctrl S)" */
export function withKey(words: string, id: string): string {
  const key = keyOf(id);
  return key === "" ? words : `${words} (${key})`;
}

/**
 * How well `text` finds `label`, 0 for not at all: its letters must come in their order. Those that begin words, and those
 * that follow each other, count more.
 */
export function fuzzyScore(label: string, text: string): number {
  const [where, what] = [label.toLowerCase(), text.toLowerCase().replace(/\s+/g, "")];
  let [score, at, last] = [1, 0, -2];
  for (const letter of what) {
    const next = nextOf(where, letter, at);
    if (next === -1) {
      return 0;
    }
    const beginsWord = next === 0 || /[\s(:.]/.test(where[next - 1] ?? "");
    score += (beginsWord ? 8 : 0) + (next === last + 1 ? 6 : 0) + 1;
    [last, at] = [next, next + 1];
  }
  return score - where.length / 100;
}

/** The next place of a letter: right here, else where a word begins, else anywhere. */
function nextOf(where: string, letter: string, from: number): number {
  if (where[from] === letter) {
    return from;
  }
  for (let at = from; at < where.length; at++) {
    if (where[at] === letter && /[\s(:.]/.test(where[at - 1] ?? " ")) {
      return at;
    }
  }
  return where.indexOf(letter, from);
}

/** The commands that can be given now, those first that `text` finds best. */
export function findCommands(text: string): Command[] {
  return commands.value
    .filter(canRun)
    .map((command) => ({ command, score: fuzzyScore(command.label, text) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => (text.trim() === "" ? 0 : b.score - a.score))
    .map(({ command }) => command);
}
