// The keys that hold anywhere on the page. What concerns one view is that view's own.

import { batch } from "@preact/signals";
import { pickFiles } from "../open/pick.ts";
import { takeFiles } from "../open/open.ts";
import { shareOpen } from "../share/links.ts";
import { dock, dockOpen, ledgerFull, phase, search, selection } from "../state/app.ts";
import { redo, undo } from "../state/history.ts";
import { isMac } from "../state/platform.ts";
import { focusSearch } from "./SearchField.tsx";
import { shortcutsOpen } from "./ShortcutsDialog.tsx";
import { showView, VIEWS } from "./ViewTabs.tsx";

/** Starts listening. Call once. */
export function followKeys(): void {
  window.addEventListener("keydown", (event) => {
    // A view, a dialog or a field that used the key says so.
    if (event.defaultPrevented || document.querySelector("dialog[open]") !== null) {
      return;
    }
    const command = isMac ? event.metaKey : event.ctrlKey;
    const done = command ? onCommand(event) : !event.altKey && !event.metaKey && !event.ctrlKey && onKey(event);
    if (done) {
      event.preventDefault();
    }
  });
}

function onCommand(event: KeyboardEvent): boolean {
  const isOpen = phase.peek().kind === "open";
  switch (event.key.toLowerCase()) {
    case "o":
      void pickFiles("files").then(takeFiles);
      return true;
    case "s":
      shareOpen.value = isOpen;
      return isOpen;
    case "f":
      if (isOpen) {
        focusSearch();
      }
      return isOpen;
    case "z":
      if (isText(event.target)) {
        return false;
      }
      (event.shiftKey ? redo : undo)();
      return true;
    default:
      return false;
  }
}

function onKey(event: KeyboardEvent): boolean {
  if (event.key === "Escape") {
    return leave();
  }
  if (isText(event.target)) {
    return false;
  }
  if (event.key === "?") {
    shortcutsOpen.value = true;
    return true;
  }
  if (phase.peek().kind !== "open") {
    return false;
  }
  const chosen = VIEWS.find((each) => each.key === event.key);
  if (chosen !== undefined) {
    ledgerFull.value = false;
    showView(chosen.view);
    return true;
  }
  switch (event.key) {
    case "/":
      focusSearch();
      return true;
    case "l":
      toggleLedger();
      return true;
    case "e":
      document.querySelector<HTMLElement>(".event-chip")?.click();
      return true;
    default:
      return false;
  }
}

function toggleLedger(): void {
  const shown = dockOpen.peek() && dock.peek() === "dsos" && !ledgerFull.peek();
  batch(() => {
    ledgerFull.value = false;
    dock.value = "dsos";
    dockOpen.value = !shown;
  });
}

/** Closes the topmost thing; dialogs and popovers close themselves. */
function leave(): boolean {
  if (ledgerFull.peek()) {
    ledgerFull.value = false;
  } else if (search.peek() !== "") {
    search.value = "";
  } else if (selection.peek() !== null) {
    selection.value = null;
  } else {
    return false;
  }
  return true;
}

function isText(target: EventTarget | null): boolean {
  if (target instanceof HTMLInputElement) {
    return !["radio", "checkbox", "button"].includes(target.type);
  }
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
}
