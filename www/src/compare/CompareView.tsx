// The page while two profiles are compared: instead of one profile's bars, views and dock.

import type { JSX } from "preact";
import { computed, signal, useSignalEffect } from "@preact/signals";
import { CoverageBar } from "../ledger/CoverageBar.tsx";
import { namedPercent, parts } from "../ledger/state.ts";
import { UnsafeBanner } from "../ledger/UnsafeBanner.tsx";
import { Banner } from "../shell/Banner.tsx";
import { Logo } from "../shell/icons.tsx";
import { MainMenu } from "../shell/MainMenu.tsx";
import { SearchField } from "../shell/SearchField.tsx";
import { Segmented } from "../shell/Segmented.tsx";
import { Splitter } from "../shell/Splitter.tsx";
import { StatusBar } from "../shell/StatusBar.tsx";
import { WorkBar } from "../shell/TopBar.tsx";
import { tabKeys } from "../shell/tab_keys.ts";
import { showView } from "../shell/ViewTabs.tsx";
import { Warnings } from "../shell/Warnings.tsx";
import { shareOpen } from "../share/links.ts";
import { dockOpen, opened, view } from "../state/app.ts";
import { keyOf, withKey } from "../state/commands.ts";
import { narrow } from "../state/width.ts";
import { Changes } from "./Changes.tsx";
import { CompareBar } from "./CompareBar.tsx";
import { CompareGraph } from "./CompareGraph.tsx";
import { CompareTree, showLargestChange } from "./CompareTree.tsx";
import { DsoPairs } from "./DsoPairs.tsx";
import { CHANGES, changesHeight, setChangesHeight } from "./layout.ts";
import { compareView, comparing, setComparison, stopComparing } from "./state.ts";

export function CompareView(): JSX.Element {
  useSignalEffect(() => {
    document.title = `Comparing · ${opened.value?.name ?? ""} · perftab`;
  });
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
    <header class="top-bar">
      <span class="brand">
        <Logo /> <span class="brand-name">perftab</span>
      </span>
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
      <button
        type="button"
        class="primary share-button"
        title={withKey("Share", "share")}
        onClick={() => {
          shareOpen.value = true;
        }}
      >
        Share
      </button>
      <MainMenu />
      <WorkBar />
    </header>
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

const TABS: readonly { tab: Exclude<Tab, "dsos">; label: string; key: string }[] = [
  { tab: "flame", label: "Flame graph", key: "2" },
  { tab: "functions", label: "Functions", key: "3" },
  { tab: "tree", label: "Call tree", key: "4" },
];

/** On a phone: the pairs of DSOs instead of a view. */
const pairsShown = signal(false);

/** Views of time are of one recording: the graph stands in their place. */
const comparedTab = computed<Tab>(() => {
  if (narrow.value && pairsShown.value) {
    return "dsos";
  }
  return TABS.find(({ tab }) => tab === view.value)?.tab ?? "flame";
});

function showTab(tab: Tab): void {
  pairsShown.value = tab === "dsos";
  if (tab !== "dsos") {
    showView(tab);
  }
}

function CompareTabs(): JSX.Element {
  const here = comparedTab.value;
  const tabs = narrow.value ? [...TABS, { tab: "dsos" as const, label: "DSOs", key: "" }] : TABS;
  return (
    <div class="view-tabs">
      <div role="tablist" aria-label="View" class="tabs" onKeyDown={tabKeys}>
        {tabs.map(({ tab, label, key }) => (
          <button
            key={tab}
            id={`tab-${tab}`}
            type="button"
            role="tab"
            aria-selected={here === tab}
            aria-controls="view"
            tabIndex={here === tab ? 0 : -1}
            onClick={() => showTab(tab)}
          >
            {label} {keyOf(`view-${tab}`) !== "" && <kbd>{key}</kbd>}
          </button>
        ))}
      </div>
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
