// An open profile: bars, view, dock.

import type { JSX } from "preact";
import { useLayoutEffect } from "preact/hooks";
import { FullLedger } from "../ledger/FullLedger.tsx";
import { UnsafeBanner } from "../ledger/UnsafeBanner.tsx";
import { HeatMapView } from "../heat_map/index.ts";
import { Timeline } from "../timeline/index.ts";
import { CallTreeView, FlameGraphView, FunctionsView, SourceView, TimeOrderView } from "../views/index.ts";
import { dockOpen, ledgerFull, view } from "../state/app.ts";
import { setTimelineHeight, setTimelineShape, TIMELINE, timelineHeight, timelineShape } from "../state/layout.ts";
import { Banner } from "./Banner.tsx";
import { ContextBar } from "./ContextBar.tsx";
import { Dock } from "./Dock.tsx";
import { focusFirstView, focusView, viewHasFocus, wasWanted } from "./focus_view.ts";
import { Later } from "./gradual.tsx";
import { Sheet } from "./Sheet.tsx";
import { Splitter } from "./Splitter.tsx";
import { StatusBar } from "./StatusBar.tsx";
import { TopBar } from "./TopBar.tsx";
import { ViewTabs } from "./ViewTabs.tsx";
import { narrow } from "../state/width.ts";

export function Profile(): JSX.Element {
  return (
    <div class="page">
      <TopBar />
      <UnsafeBanner />
      <Banner />
      <Later frames={1}>{ledgerFull.value ? <FullLedger /> : <Work />}</Later>
      {narrow.value && !ledgerFull.value && <Sheet />}
      <StatusBar />
    </div>
  );
}

function Work(): JSX.Element {
  return (
    <>
      <ContextBar />
      <TimelineRegion />
      <div class={`work${dockOpen.value ? " with-dock" : ""}`}>
        <main class="view-side">
          <ViewTabs />
          <div class="view" role="tabpanel" id="view" aria-labelledby={`tab-${view.value}`}>
            <View />
          </div>
        </main>
        {dockOpen.value && !narrow.value && <Dock />}
      </div>
    </>
  );
}

/**
 * When a profile opens, the bars come first, then the view, the timeline, what the dock holds: together a task of 80 ms
 * where the worker and the pixels keep all processors busy.
 */
function TimelineRegion(): JSX.Element | null {
  const shape = timelineShape.value;
  if (shape === "none") {
    return null;
  }
  const height = shape === "strip" ? TIMELINE.strip : timelineHeight.value;
  return (
    <div class="timeline-region" style={{ height: `${height}px` }}>
      <Later frames={1}>
        <Timeline shown={shape} onShow={setTimelineShape} />
      </Later>
      {shape === "tracks" && !narrow.value && (
        <Splitter
          label="Height of the timeline"
          edge="bottom"
          size={() => timelineHeight.peek()}
          least={TIMELINE.least}
          most={Math.floor(innerHeight / 2)}
          onResize={setTimelineHeight}
        />
      )}
    </div>
  );
}

/**
 * A view that takes another's place takes its focus too, and one that a key has named takes it from anywhere, as what had it
 * may be gone with the view before: whoever uses keys goes on with them.
 */
function View(): JSX.Element {
  const hadFocus = viewHasFocus();
  useLayoutEffect(() => {
    if ((wasWanted() || hadFocus) && !viewHasFocus()) {
      focusView();
    }
  }, [view.value]);
  useLayoutEffect(focusFirstView, []);
  switch (view.value) {
    case "heat-map":
      return <HeatMapView />;
    case "time-order":
      return <TimeOrderView />;
    case "flame":
      return <FlameGraphView />;
    case "functions":
      return <FunctionsView />;
    case "tree":
      return <CallTreeView />;
    case "source":
      return <SourceView />;
  }
}
