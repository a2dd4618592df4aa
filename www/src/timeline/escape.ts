// Esc twice in a row leaves the range. The first one closes whatever is topmost, if anything is.

import { draggedRange, query } from "../state/app.ts";
import { setRange } from "../views/query_steps.ts";

/** Starts listening; the answer ends it. */
export function followEscape(): () => void {
  let armed = false;
  const key = (event: KeyboardEvent): void => {
    const isElsewhere = document.querySelector("dialog[open]") !== null || event.target instanceof HTMLInputElement;
    if (event.key !== "Escape" || isElsewhere) {
      armed = false;
    } else if (armed && !event.defaultPrevented && query.peek().range !== null && draggedRange.peek() === null) {
      armed = false;
      event.preventDefault();
      setRange(null);
    } else {
      armed = true;
    }
  };
  const pointer = (): void => {
    armed = false;
  };
  addEventListener("keydown", key);
  addEventListener("pointerdown", pointer);
  return () => {
    removeEventListener("keydown", key);
    removeEventListener("pointerdown", pointer);
  };
}
