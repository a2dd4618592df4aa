// The page while two profiles are compared: instead of one profile's bars, views and dock.

import type { JSX } from "preact";
import { computed, signal } from "@preact/signals";
import { CoverageBar } from "../ledger/CoverageBar.tsx";
import { namedPercent, parts } from "../ledger/state.ts";
import { UnsafeBanner } from "../ledger/UnsafeBanner.tsx";
import { Banner } from "../shell/Banner.tsx";
import { SearchField } from "../shell/SearchField.tsx";
import { Segmented } from "../shell/Segmented.tsx";
import { Splitter } from "../shell/Splitter.tsx";
import { StatusBar } from "../shell/StatusBar.tsx";
import { BarFrame } from "../shell/TopBar.tsx";
import { Tabs } from "../shell/Tabs.tsx";
import { showView } from "../shell/ViewTabs.tsx";
import { Warnings } from "../shell/Warnings.tsx";
import { dockOpen, opened, view } from "../state/app.ts";
import { narrow } from "../state/width.ts";
import { Changes } from "./Changes.tsx";
import { CompareBar } from "./CompareBar.tsx";
import { CompareGraph } from "./CompareGraph.tsx";
import { CompareTree, showLargestChange } from "./CompareTree.tsx";
import { DsoPairs } from "./DsoPairs.tsx";
import { CHANGES, changesHeight, setChangesHeight } from "./layout.ts";
import { compareView, comparing, setComparison, stopComparing } from "./state.ts";

export function CompareView(): JSX.Element {
  // A phone shows one thing at a time.
  const tab = comparedTab.value;
  const graph = tab === "flame";
  const changes = tab === "functions" || (graph && !narrow.value);
  return (
    <div class="page comparing">
      <CompareTopBar />
      <CompareBar />
      <UnsafeBanner />
      <Banner />
      <div class={`work${dockOpen.value ? " with-dock" : ""}`}>
        <main class="view-side">
          <CompareTabs />
          <div class="view compare-view" role="tabpanel" id="view" aria-labelledby={`tab-${tab}`}>
            {graph && <CompareGraph />}
            {tab === "tree" && <CompareTree />}
            {tab === "dsos" && <DsoPairs />}
            {changes && (
              <div class="changes-region" style={graph ? { flex: `0 0 ${changesHeight.value}px` } : {}}>
                {graph && (
                  <Splitter
                    label="Height of the changes"
                    edge="top"
                    size={() => changesHeight.peek()}
                    least={CHANGES.least}
                    most={Math.floor(innerHeight * CHANGES.mostShare)}
                    onResize={setChangesHeight}
                  />
                )}
                <Changes />
              </div>
            )}
          </div>
        </main>
        {dockOpen.value && !narrow.value && <DsoPairs />}
      </div>
      <StatusBar />
    </div>
  );
}

function CompareTopBar(): JSX.Element {
  const isOne = comparing.value?.with === "rest";
  return (
    <BarFrame>
      <div class="file">
        <h1 class="file-name">{isOne ? "Comparing a range with the rest" : "Comparing two profiles"}</h1>
        <p class="facts-line">{isOne ? (opened.value?.name ?? "") : "Both read in this tab"}</p>
      </div>
      <SearchField />
      <DockButton isOne={isOne} />
      <Warnings />
      <button type="button" class="stop-button" aria-label="Stop comparing" onClick={stopComparing}>
        <span>
          Stop<span class="stop-what"> comparing</span>
        </span>
      </button>
    </BarFrame>
  );
}

/** Opens and closes the dock. Of two profiles each has a meter of its own below. */
function DockButton({ isOne }: { isOne: boolean }): JSX.Element {
  const toggle = (): void => {
    dockOpen.value = !dockOpen.value;
  };
  const named = `${namedPercent.value.toFixed(1)} %`;
  return isOne ? (
    <button type="button" class="quiet coverage-meter" title={`${named} of samples end in a named frame.`} onClick={toggle}>
      <CoverageBar parts={parts.value} kind="meter" />
      <span>
        <strong>{named}</strong> named
      </span>
    </button>
  ) : (
    <button type="button" class="quiet coverage-meter" aria-pressed={dockOpen.value} onClick={toggle}>
      DSOs in both
    </button>
  );
}

type Tab = "flame" | "functions" | "tree" | "dsos";

const TABS: readonly (readonly [tab: Exclude<Tab, "dsos">, words: string])[] = [
  ["flame", "Flame graph"],
  ["functions", "Functions"],
  ["tree", "Call tree"],
];
const DSOS = ["dsos", "DSOs"] as const;

/** On a phone: the pairs of DSOs instead of a view. */
const pairsShown = signal(false);

/** Views of time are of one recording: the graph stands in their place. */
const comparedTab = computed<Tab>(() => {
  if (narrow.value && pairsShown.value) {
    return "dsos";
  }
  return TABS.find(([tab]) => tab === view.value)?.[0] ?? "flame";
});

function showTab(tab: Tab): void {
  pairsShown.value = tab === "dsos";
  if (tab !== "dsos") {
    showView(tab);
  }
}

function CompareTabs(): JSX.Element {
  const here = comparedTab.value;
  return (
    <div class="view-tabs">
      <Tabs label="View" kind="tabs" panel="view" tabs={narrow.value ? [...TABS, DSOS] : TABS} shown={here} onShow={showTab} />
      {here === "flame" && <WidthChoice />}
      {here === "tree" && (
        <div class="view-options">
          <button type="button" onClick={showLargestChange}>
            Expand to the largest change
          </button>
        </div>
      )}
    </div>
  );
}

function WidthChoice(): JSX.Element {
  return (
    <div class="view-options">
      <span class="ink-mute">Width</span>
      <Segmented
        label="Width"
        value={compareView.value.width}
        choices={[
          ["before", "Before"],
          ["after", "After"],
          ["both", "Both"],
        ]}
        onChoose={(width) => setComparison({ width })}
      />
    </div>
  );
}
