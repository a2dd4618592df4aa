// The page while two profiles are compared: instead of one profile's bars, views and dock.

import type { JSX } from "preact";
import { signal, useSignalEffect } from "@preact/signals";
import { CoverageBar } from "../ledger/CoverageBar.tsx";
import { namedPercent, parts } from "../ledger/state.ts";
import { Logo } from "../shell/icons.tsx";
import { MainMenu } from "../shell/MainMenu.tsx";
import { SearchField } from "../shell/SearchField.tsx";
import { Splitter } from "../shell/Splitter.tsx";
import { StatusBar } from "../shell/StatusBar.tsx";
import { WorkBar } from "../shell/TopBar.tsx";
import { showView } from "../shell/ViewTabs.tsx";
import { Warnings } from "../shell/Warnings.tsx";
import { shareOpen } from "../share/links.ts";
import { dockOpen, opened, view } from "../state/app.ts";
import { keyOf } from "../state/commands.ts";
import { narrow } from "../state/width.ts";
import { Changes } from "./Changes.tsx";
import { CompareBar } from "./CompareBar.tsx";
import { CompareGraph } from "./CompareGraph.tsx";
import { DsoPairs } from "./DsoPairs.tsx";
import { CHANGES, changesHeight, setChangesHeight } from "./layout.ts";
import { comparing, setComparison, stopComparing } from "./state.ts";

export function CompareView(): JSX.Element {
  useSignalEffect(() => {
    document.title = `Comparing · ${opened.value?.name ?? ""} · perftab`;
  });
  // A phone shows one thing at a time.
  const graph = view.value !== "functions";
  const pairs = narrow.value && pairsShown.value;
  const changes = view.value === "functions" || !narrow.value;
  return (
    <div class="page comparing">
      <CompareTopBar />
      <CompareBar />
      <div class={`work${dockOpen.value ? " with-dock" : ""}`}>
        <main class="view-side">
          <CompareTabs />
          <div class="view compare-view" role="tabpanel" id="view" aria-labelledby={graph ? "tab-flame" : "tab-functions"}>
            {graph && !pairs && <CompareGraph />}
            {pairs && <DsoPairs />}
            {changes && !pairs && (
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
      <span class="brand"><Logo /> <span class="brand-name">perftab</span></span>
      <div class="file">
        <h1 class="file-name">{isOne ? "Comparing a range with the rest" : "Comparing two profiles"}</h1>
        <p class="facts-line">{isOne ? (opened.value?.name ?? "") : "Both read in this tab"}</p>
      </div>
      <SearchField />
      <button
        type="button"
        class="quiet coverage-meter"
        title={`${namedPercent.value.toFixed(1)} % of samples of ${opened.value?.name ?? "the first"} end in a named frame.`}
        onClick={() => {
          dockOpen.value = !dockOpen.value;
        }}
      >
        <CoverageBar parts={parts.value} kind="meter" />
        <span><strong>{namedPercent.value.toFixed(1)} %</strong> named</span>
      </button>
      <Warnings />
      <button type="button" onClick={stopComparing}>Stop comparing</button>
      <button
        type="button"
        class="primary share-button"
        disabled={!isOne}
        title={isOne ? undefined : "A link holds one profile. Stop comparing to share one of the two."}
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

const TABS = [
  { view: "flame", label: "Flame graph", key: "2" },
  { view: "functions", label: "Functions", key: "3" },
] as const;

/** On a phone: the pairs of DSOs instead of a view. */
const pairsShown = signal(false);

function CompareTabs(): JSX.Element {
  const here = narrow.value && pairsShown.value ? "dsos" : view.value === "functions" ? "functions" : "flame";
  return (
    <div class="view-tabs">
      <div role="tablist" aria-label="View" class="tabs" onKeyDown={onTabKey}>
        {TABS.map((tab) => (
          <button
            key={tab.view}
            id={`tab-${tab.view}`}
            type="button"
            role="tab"
            aria-selected={here === tab.view}
            aria-controls="view"
            tabIndex={here === tab.view ? 0 : -1}
            onClick={() => {
              pairsShown.value = false;
              showView(tab.view);
            }}
          >
            {tab.label} {keyOf(`view-${tab.view}`) !== "" && <kbd>{tab.key}</kbd>}
          </button>
        ))}
        {narrow.value && (
          <button
            type="button"
            role="tab"
            aria-selected={here === "dsos"}
            aria-controls="view"
            tabIndex={here === "dsos" ? 0 : -1}
            onClick={() => {
              pairsShown.value = true;
            }}
          >
            DSOs
          </button>
        )}
      </div>
      {here === "flame" && <WidthChoice />}
    </div>
  );
}

function onTabKey(event: KeyboardEvent): void {
  if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
    event.preventDefault();
    const next = view.peek() === "functions" ? "flame" : "functions";
    showView(next);
    document.getElementById(`tab-${next}`)?.focus();
  }
}

function WidthChoice(): JSX.Element {
  return (
    <div class="view-options">
      <span class="ink-mute">Width</span>
      <span class="segmented" role="group" aria-label="Width">
        {(["before", "after", "both"] as const).map((width) => (
          <button key={width} type="button" aria-pressed={comparing.value?.width === width} onClick={() => setComparison({ width })}>
            {{ before: "Before", after: "After", both: "Both" }[width]}
          </button>
        ))}
      </span>
    </div>
  );
}
