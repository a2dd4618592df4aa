// A panel under the button that opens it. Closes by Esc, by the button, and by anything outside.

import type { ComponentChildren, JSX } from "preact";
import { useLayoutEffect, useId, useRef, useState } from "preact/hooks";

interface PopoverProps {
  /** What the button shows. */
  label: ComponentChildren;
  /** What the button is called where its content does not say it. */
  name?: string;
  buttonClass?: string;
  panelClass?: string;
  children: (close: () => void) => ComponentChildren;
}

export function Popover({ label, name, buttonClass = "", panelClass = "", children }: PopoverProps): JSX.Element {
  const [open, setOpen] = useState(false);
  const wrap = useRef<HTMLSpanElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const id = useId();
  const close = (): void => {
    setOpen(false);
    button.current?.focus();
  };
  useLayoutEffect(() => {
    if (!open) {
      return;
    }
    const outside = (event: Event): void => {
      if (event.target instanceof Node && !wrap.current?.contains(event.target)) {
        setOpen(false);
      }
    };
    const key = (event: KeyboardEvent): void => {
      if (event.key === "Escape") {
        event.stopPropagation();
        close();
      }
    };
    document.addEventListener("pointerdown", outside);
    document.addEventListener("focusin", outside);
    wrap.current?.addEventListener("keydown", key);
    wrap.current?.querySelector<HTMLElement>(".popover :is(button, input, select, a[href])")?.focus();
    const element = wrap.current;
    return () => {
      document.removeEventListener("pointerdown", outside);
      document.removeEventListener("focusin", outside);
      element?.removeEventListener("keydown", key);
    };
  }, [open]);
  return (
    <span class="popover-wrap" ref={wrap}>
      <button
        ref={button}
        type="button"
        class={buttonClass}
        aria-expanded={open}
        aria-controls={id}
        {...(name === undefined ? {} : { "aria-label": name, title: name })}
        onClick={() => setOpen(!open)}
      >
        {label}
      </button>
      {open && (
        <div class={`popover ${panelClass}`} id={id} role="group" aria-label={name ?? undefined}>
          {children(close)}
        </div>
      )}
    </span>
  );
}

interface MenuItemProps {
  /** Of the panel that it is in, which closes before anything else. */
  close: () => void;
  onChoose: () => void;
  kind?: string;
  /** Of one of several choices. */
  isOn?: boolean;
  disabled?: boolean;
  children: ComponentChildren;
}

export function MenuItem({ close, onChoose, kind = "", isOn, disabled = false, children }: MenuItemProps): JSX.Element {
  const choose = (): void => {
    close();
    onChoose();
  };
  return (
    <button type="button" class={`menu-item ${kind}`} aria-pressed={isOn} disabled={disabled} onClick={choose}>
      {children}
    </button>
  );
}
