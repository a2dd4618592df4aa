// The page's dialogs and popovers, on the browser's own <dialog>: focus is trapped and returned by it, Esc closes.

import type { ComponentChildren, JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Icon } from "./icons.tsx";

interface DialogProps {
  title: string;
  /** The class that gives the size. */
  kind: string;
  onClose: () => void;
  /** Beside the title: tabs. */
  head?: ComponentChildren;
  children: ComponentChildren;
}

export function Dialog({ title, kind, onClose, head, children }: DialogProps): JSX.Element {
  const ref = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const dialog = ref.current;
    // The browser returns the focus itself only when a dialog is closed, not when it is removed.
    const before = document.activeElement;
    dialog?.showModal();
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement && before.isConnected) {
        before.focus();
      }
    };
  }, []);
  const [pressed, released] = [useRef(false), useRef(false)];
  // The dialog itself is hit only where its backdrop is.
  const isBackdrop = (event: MouseEvent): boolean => event.button === 0 && event.target === ref.current;
  return (
    <dialog
      ref={ref}
      class={`dialog ${kind}`}
      aria-label={title}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onPointerDown={(event) => {
        pressed.current = isBackdrop(event);
      }}
      onPointerUp={(event) => {
        released.current = isBackdrop(event);
      }}
      onClick={(event) => {
        // A click of a selection of text that begins or ends on the backdrop is the dialog's, too.
        if (isBackdrop(event) && pressed.current && released.current) {
          onClose();
        }
      }}
    >
      <div class="dialog-frame">
        <header class="dialog-head">
          <h2>{title}</h2>
          {head}
          <button type="button" class="quiet icon-only push-right" aria-label="Close" onClick={onClose}>
            <Icon name="close" />
          </button>
        </header>
        {children}
      </div>
    </dialog>
  );
}
