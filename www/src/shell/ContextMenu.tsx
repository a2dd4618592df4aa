// The menu of what is selected: every transform with its key, and where else to look. It opens where the pointer is, by
// the menu key at the selection, and by a "⋯" for fingers; focus goes back to where it came from.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { selection } from "../state/app.ts";
import { detail } from "../state/detail.ts";
import { applyTransform, TRANSFORMS } from "./transforms.ts";
import { extraItems } from "./menu_items.ts";
import { markedName } from "../views/forced_name.tsx";

interface Place {
  /** In the window, in CSS pixels. */
  x: number;
  y: number;
}

/** Where the menu is open; null while it is not. */
const place = signal<(Place & { returnTo: Element | null }) | null>(null);

/** Opens the menu of what is selected; does nothing where nothing is. */
export function openTransformMenu(at: Place): void {
  if (selection.peek() !== null) {
    place.value = { ...at, returnTo: document.activeElement };
  }
}

/** The same below an element, as a button does. */
export function openTransformMenuAt(element: Element): void {
  const { left, bottom } = element.getBoundingClientRect();
  openTransformMenu({ x: left, y: bottom });
}

function close(): void {
  const before = place.peek()?.returnTo;
  place.value = null;
  if (before instanceof HTMLElement && before.isConnected) {
    before.focus();
  }
}

export function ContextMenu(): JSX.Element | null {
  return place.value === null ? null : <Menu at={place.value} />;
}

function Menu({ at }: { at: Place }): JSX.Element {
  const menu = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = menu.current;
    if (element !== null) {
      // Within the window, whole.
      element.style.left = `${Math.max(4, Math.min(at.x, innerWidth - element.offsetWidth - 4))}px`;
      element.style.top = `${Math.max(4, Math.min(at.y, innerHeight - element.offsetHeight - 4))}px`;
      items(element)[0]?.focus();
    }
    const outside = (event: Event): void => {
      if (event.target instanceof Node && !element?.contains(event.target)) {
        place.value = null;
      }
    };
    document.addEventListener("pointerdown", outside, { capture: true });
    window.addEventListener("resize", close);
    return () => {
      document.removeEventListener("pointerdown", outside, { capture: true });
      window.removeEventListener("resize", close);
    };
  }, [at]);
  const node = detail.value;
  const name = node === null ? (selection.value?.row?.name ?? "") : markedName(node.name, node.flags);
  const run = (action: () => void): void => {
    close();
    action();
  };
  return (
    <div
      ref={menu}
      class="popover menu context-menu"
      role="menu"
      aria-label={name === "" ? "Selection" : name}
      onKeyDown={(event) => onKey(event, menu.current)}
      onContextMenu={(event) => event.preventDefault()}
    >
      {name !== "" && (
        <p class="menu-head" role="presentation">
          {name}
        </p>
      )}
      {TRANSFORMS.map(({ kind, key, label }) => (
        <Item key={kind} keys={key} label={label} onChoose={() => run(() => void applyTransform(kind))} />
      ))}
      <hr />
      {extraItems().map(({ label, keys, run: action }) => (
        <Item key={label} keys={keys} label={label} onChoose={() => run(action)} />
      ))}
    </div>
  );
}

function Item({ keys, label, onChoose }: { keys: string; label: string; onChoose: () => void }): JSX.Element {
  return (
    <button type="button" class="menu-item" role="menuitem" tabIndex={-1} data-key={keys} onClick={onChoose}>
      {label} {keys !== "" && <kbd>{keys}</kbd>}
    </button>
  );
}

function items(menu: Element): HTMLElement[] {
  return [...menu.querySelectorAll<HTMLElement>("[role=menuitem]")];
}

function onKey(event: KeyboardEvent, menu: Element | null): void {
  const all = menu === null ? [] : items(menu);
  const at = all.indexOf(document.activeElement as HTMLElement);
  const steps: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1 + all.length, Home: 0, End: all.length - 1 };
  const to = steps[event.key];
  if (to !== undefined) {
    all[to % all.length]?.focus();
  } else if (event.key === "Escape" || event.key === "Tab") {
    close();
  } else if (event.key.length === 1 && event.key !== " " && !event.ctrlKey && !event.metaKey && !event.altKey) {
    all.find((each) => each.dataset.key === event.key)?.click();
  } else {
    return;
  }
  event.preventDefault();
  event.stopPropagation();
}
