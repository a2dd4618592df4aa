// The views, and at the right what the present one offers.

import type { JSX } from "preact";
import { useLayoutEffect } from "preact/hooks";
import { HeatMapOptions } from "../heat_map/index.ts";
import { view } from "../state/app.ts";
import { step } from "../state/history.ts";
import type { View } from "../state/url.ts";
import { narrow } from "../state/width.ts";
import { ViewOptions } from "../views/index.ts";
import { Icon } from "./icons.tsx";
import { Popover } from "./Popover.tsx";
import { Tabs } from "./Tabs.tsx";

/** Those that there are; a number that stands for none of them does nothing. */
export const VIEWS: readonly { view: View; label: string; key: string }[] = [
  { view: "time-order", label: "Time order", key: "1" },
  { view: "flame", label: "Flame graph", key: "2" },
  { view: "functions", label: "Functions", key: "3" },
  { view: "tree", label: "Call tree", key: "4" },
  { view: "source", label: "Source", key: "5" },
  { view: "heat-map", label: "Heat map", key: "6" },
];

export function showView(next: View): void {
  if (view.peek() !== next) {
    step(() => {
      view.value = next;
    });
  }
}

export function ViewTabs(): JSX.Element {
  const isNarrow = narrow.value;
  useLayoutEffect(() => {
    // A phone's row scrolls, and a link may open on its last tab.
    if (isNarrow) {
      document.getElementById(`tab-${view.peek()}`)?.scrollIntoView({ block: "nearest", inline: "center" });
    }
  }, [view.value, isNarrow]);
  return (
    <div class="view-tabs">
      <Tabs
        label="View"
        kind="tabs"
        panel="view"
        tabs={VIEWS.map((each) => [each.view, each.label])}
        shown={view.value}
        onShow={showView}
      />
      {narrow.value ? <OptionsBehindDots /> : <Options />}
    </div>
  );
}

function Options(): JSX.Element {
  return view.value === "heat-map" ? <HeatMapOptions /> : <ViewOptions />;
}

/** On a phone tabs need the whole row; the dots stay in sight while it scrolls. */
function OptionsBehindDots(): JSX.Element {
  return (
    <span class="options-behind-dots">
      <Popover label={<Icon name="more" />} name="View options" buttonClass="quiet icon-only" panelClass="narrow-options">
        {() => <Options />}
      </Popover>
    </span>
  );
}
