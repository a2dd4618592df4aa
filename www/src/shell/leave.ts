// Esc closes the topmost thing; dialogs, menus and pinned cards close themselves before it comes here.

import { dockOpen, ledgerFull, search, selection } from "../state/app.ts";
import { narrow, overlaid } from "../state/width.ts";

/** Whether there was something to close. */
export function leave(): boolean {
  if (ledgerFull.peek()) {
    ledgerFull.value = false;
  } else if (overlaid.value && !narrow.value && dockOpen.peek()) {
    dockOpen.value = false;
  } else if (search.peek() !== "") {
    search.value = "";
  } else if (selection.peek() !== null) {
    selection.value = null;
  } else {
    return false;
  }
  return true;
}
