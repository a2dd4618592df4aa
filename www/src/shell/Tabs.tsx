// Tabs over a panel. Left and Right move among them, and show what they stop at.

import type { JSX } from "preact";
import { keyOf } from "../state/commands.ts";

interface TabsProps<T extends string> {
  label: string;
  kind: string;
  /** The id of what they show. */
  panel: string;
  tabs: readonly (readonly [tab: T, words: string])[];
  shown: T;
  onShow: (tab: T) => void;
}

export function Tabs<T extends string>({ label, kind, panel, tabs, shown, onShow }: TabsProps<T>): JSX.Element {
  return (
    <div role="tablist" aria-label={label} class={kind} onKeyDown={onKey}>
      {tabs.map(([tab, words]) => (
        <button
          key={tab}
          id={`tab-${tab}`}
          type="button"
          role="tab"
          aria-selected={shown === tab}
          aria-controls={panel}
          tabIndex={shown === tab ? 0 : -1}
          onClick={() => onShow(tab)}
        >
          {words} {keyOf(`view-${tab}`) !== "" && <kbd>{keyOf(`view-${tab}`)}</kbd>}
        </button>
      ))}
    </div>
  );
}

function onKey(event: KeyboardEvent): void {
  const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
  const tabs = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>("[role=tab]")];
  const at = tabs.findIndex((tab) => tab.ariaSelected === "true");
  const next = tabs.at((at + by) % tabs.length);
  if (by !== 0 && next !== undefined) {
    event.preventDefault();
    next.focus();
    next.click();
  }
}
