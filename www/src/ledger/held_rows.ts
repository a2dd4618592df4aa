// Rows of the ledger keep their places while the pointer or the focus is among them: a row that names moved away would leave
// another one to be clicked.

import type { HTMLAttributes, RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { holdRows, releaseRows } from "./state.ts";

/** For the element around the rows. */
export function useHeldRows<Around extends HTMLElement>(): HTMLAttributes<Around> & { ref: RefObject<Around | null> } {
  const around = useRef<Around>(null);
  const within = useRef({ pointer: false, focus: false }).current;
  const change = (to: Partial<typeof within>): void => {
    Object.assign(within, to);
    if (within.pointer || within.focus) {
      holdRows();
    } else {
      releaseRows();
    }
  };
  // A button that goes, since its row has all it lacked, takes the focus along and says nothing.
  useEffect(() => {
    if (within.focus && !around.current?.contains(document.activeElement)) {
      change({ focus: false });
    }
  });
  useEffect(() => () => change({ pointer: false, focus: false }), []);
  return {
    ref: around,
    onPointerEnter: () => change({ pointer: true }),
    onPointerLeave: () => change({ pointer: false }),
    onFocusIn: () => change({ focus: true }),
    onFocusOut: () => change({ focus: false }),
  };
}
