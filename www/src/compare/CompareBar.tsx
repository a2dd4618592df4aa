// What is compared: the two sides, which is which, the event, and what makes them comparable.

import type { JSX } from "preact";
import { Chips } from "../shell/Chips.tsx";
import { Icon } from "../shell/icons.tsx";
import { CoverageBar } from "../ledger/CoverageBar.tsx";
import { coverageParts } from "../ledger/coverage.ts";
import { namedAmong } from "../ledger/state.ts";
import { MenuItem, Popover } from "../shell/Popover.tsx";
import { Segmented } from "../shell/Segmented.tsx";
import { listed } from "../open/answerable.ts";
import type { Coverage, SideTotal } from "../session/types.ts";
import { event, query } from "../state/app.ts";
import { bytes, count, countSamples, seconds } from "../state/format.ts";
import { setEvent } from "../views/index.ts";
import type { SideWords } from "./state.ts";
import {
  commonEvents,
  comparedSides,
  compareView,
  comparing,
  hasTimes,
  secondQuery,
  setComparison,
  sideWords,
  swapSides,
} from "./state.ts";

export function CompareBar(): JSX.Element {
  const [before, after] = sideWords.value ?? [];
  const totals = comparedSides.value;
  return (
    <div class="context-bar compare-bar">
      {before !== undefined && <SideBox role="Before" side={before} total={totals?.[0] ?? null} />}
      <button type="button" onClick={swapSides} title="Swap before and after">
        Swap
      </button>
      {after !== undefined && <SideBox role="After" side={after} total={totals?.[1] ?? null} />}
      <EventChoice />
      <Chips />
      <FirstProfileNotice />
      <BasisChoice />
    </div>
  );
}

/** Filters and transforms are of the first profile; those that go by names are applied to both. */
function FirstProfileNotice(): JSX.Element | null {
  const left = comparing.value?.with === "second" ? (secondQuery.value?.left ?? []) : [];
  return left.length === 0 ? null : <span class="not-applied">Applied to the first only: {listed(left)}</span>;
}

function SideBox({ role, side, total }: { role: string; side: SideWords; total: SideTotal | null }): JSX.Element {
  const facts = [
    side.bytes === null ? "" : bytes(side.bytes),
    total === null || total.seconds === 0 ? "" : seconds(total.seconds * 1e9),
    total === null ? "" : count(total.samples),
  ];
  return (
    <span class="side-box" title={total === null ? side.name : `${side.name}: ${countSamples(total.samples)}`}>
      <span class="side-role">{role}</span> <strong>{side.name}</strong>{" "}
      <span class="ink-mute">{facts.filter((fact) => fact !== "").join(" · ")}</span>
      {side.coverage !== null && <Named coverage={side.coverage} />}
    </span>
  );
}

function Named({ coverage }: { coverage: Coverage }): JSX.Element {
  const parts = coverageParts(coverage);
  const named = `${namedAmong(parts).toFixed(1)} %`;
  return (
    <span class="side-named" title={`${named} of samples end in a named frame`}>
      <CoverageBar parts={parts} kind="meter" /> {named} named
    </span>
  );
}

function EventChoice(): JSX.Element | null {
  const here = event.value;
  if (here === null) {
    return null;
  }
  const facts = (
    <>
      <span class="chip-kind">Event</span> <strong class="chip-name">{here.name}</strong>
    </>
  );
  const common = commonEvents.value.filter((each) => each.event.samples > 0);
  if (common.length <= 1 && common.some(({ index }) => index === query.value.event)) {
    return <span class="chip still">{facts}</span>;
  }
  return (
    <Popover
      label={
        <>
          {facts} <Icon name="chevron" size={12} />
        </>
      }
      name={`Event ${here.name}`}
      buttonClass="chip event-chip"
      panelClass="menu events-menu"
    >
      {(close) => (
        <>
          {common.length === 0 && <p class="menu-head">The profiles have no event in common.</p>}
          {common.map(({ event: each, index }) => (
            <MenuItem
              close={close}
              key={index}
              kind="event-item"
              isOn={index === query.value.event}
              onChoose={() => setEvent(index)}
            >
              <strong class="event-name" title={each.name}>
                {each.name}
              </strong>
              <span class="event-samples">{countSamples(each.samples)}</span>
            </MenuItem>
          ))}
        </>
      )}
    </Popover>
  );
}

function BasisChoice(): JSX.Element {
  return (
    <span class="basis-choice push-right">
      <span class="ink-mute">Compare</span>
      <Segmented
        label="Compare"
        value={compareView.value.basis}
        choices={[
          ["share", "Share of total"],
          ["per-second", "Per second", hasTimes.value ? undefined : "One side has no timestamps"],
          ["raw", "Raw weight"],
        ]}
        onChoose={(basis) => setComparison({ basis })}
      />
    </span>
  );
}
