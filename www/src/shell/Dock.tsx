// The dock: DSOs and Selection, at the right of the view; over the view where the window is small.

import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { signal } from "@preact/signals";
import { Ledger } from "../ledger/Ledger.tsx";
import { OrderMenu } from "../ledger/OrderMenu.tsx";
import { namedCount } from "../ledger/state.ts";
import type { Dock as DockTab } from "../state/app.ts";
import { dock, dockOpen, ledgerFull } from "../state/app.ts";
import { recallNumber, remember } from "../state/storage.ts";
import { Later } from "./gradual.tsx";
import { Icon } from "./icons.tsx";
import { SelectionPanel } from "./SelectionPanel.tsx";
import { Splitter } from "./Splitter.tsx";
import { Tabs } from "./Tabs.tsx";
import { overlaid } from "../state/width.ts";

const TABS: readonly (readonly [DockTab, string])[] = [
  ["dsos", "DSOs"],
  ["selection", "Selection"],
];

const LEAST = 280;
const MOST = 560;
/** 0 for the style sheet's own width. */
const width = signal(recallNumber("dock", LEAST, MOST, 0));

function resize(next: number): void {
  width.value = next === 0 ? 0 : Math.min(MOST, Math.max(LEAST, next));
  remember("dock", String(width.value));
}

function presentWidth(): number {
  return document.querySelector<HTMLElement>(".dock")?.offsetWidth ?? LEAST;
}

export function Dock(): JSX.Element {
  useEffect(() => {
    if (overlaid.value) {
      document.querySelector<HTMLElement>(".dock [role=tab][aria-selected=true]")?.focus();
    }
  }, []);
  return (
    <aside class="dock" aria-label="Side panel" style={width.value === 0 ? {} : { width: `${width.value}px` }}>
      <Splitter label="Width of the side panel" edge="left" size={presentWidth} least={LEAST} most={MOST} onResize={resize} />
      <header class="dock-head">
        <Tabs
          label="Side panel"
          kind="dock-tabs"
          panel="dock"
          tabs={TABS}
          shown={dock.value}
          onShow={(tab) => {
            dock.value = tab;
          }}
        />
        {dock.value === "dsos" && (
          <button
            type="button"
            class="quiet ink-mute"
            title="Show DSOs at full width"
            onClick={() => {
              ledgerFull.value = true;
            }}
          >
            {namedCount}
          </button>
        )}
        <span class="push-right">{dock.value === "dsos" && <OrderMenu />}</span>
        <button
          type="button"
          class="quiet icon-only"
          aria-label="Close the side panel"
          onClick={() => {
            dockOpen.value = false;
          }}
        >
          <Icon name="close" />
        </button>
      </header>
      <div id="dock" class="dock-body" role="tabpanel" aria-labelledby={`tab-${dock.value}`}>
        <Later frames={2}>{dock.value === "dsos" ? <Ledger /> : <SelectionPanel />}</Later>
      </div>
    </aside>
  );
}
