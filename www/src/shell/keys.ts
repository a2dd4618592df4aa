// Keys that hold anywhere on the page: each does what the table of commands says. What a view, a dialog or a field does
// with a key comes before.

import type { Scope } from "../state/commands.ts";
import { commandFor, isSwitchedOff } from "../state/commands.ts";
import { leave } from "./leave.ts";

/** Where time has the focus; everywhere else keys are about code. */
const TIME = ".timeline-region, .heat-map";
/** Lists that take letters for themselves. */
const LISTS = "[role=menu], [role=listbox], .popover";

/** Starts listening. Call once. */
export function followKeys(): void {
  window.addEventListener(
    "keydown",
    (event) => {
      if (isSwitchedOff(event) && !isText(event.target)) {
        event.stopImmediatePropagation();
      }
    },
    { capture: true },
  );
  window.addEventListener("keydown", (event) => {
    // A view, a dialog or a field that used the key says so.
    if (event.defaultPrevented || document.querySelector("dialog[open]") !== null) {
      return;
    }
    if (event.key === "Escape" ? leave() : press(event)) {
      event.preventDefault();
    }
  });
}

/** Whether the key was one of the page's. */
function press(event: KeyboardEvent): boolean {
  const isCommand = event.ctrlKey || event.metaKey;
  const within = (where: string): boolean => event.target instanceof Element && event.target.closest(where) !== null;
  // Undo within a text is the text's; so are letters.
  if (isText(event.target) && (!isCommand || event.key.toLowerCase() === "z")) {
    return false;
  }
  if (!isCommand && within(LISTS)) {
    return false;
  }
  const focus: Scope = within(TIME) ? "time" : "code";
  const command = commandFor(event, focus);
  command?.run?.();
  return command !== null;
}

export function isText(target: EventTarget | null): boolean {
  if (target instanceof HTMLInputElement) {
    return !["radio", "checkbox", "button", "range"].includes(target.type);
  }
  return (
    target instanceof HTMLTextAreaElement ||
    target instanceof HTMLSelectElement ||
    (target instanceof HTMLElement && target.isContentEditable)
  );
}
