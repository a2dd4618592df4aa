// Which event is shown, and which others there are: what was recorded, what was worked out from it, and what has no samples.

import type { JSX } from "preact";
import type { EventInfo } from "../session/types.ts";
import { event, events, isDerived, query } from "../state/app.ts";
import { count, countSamples, weight } from "../state/format.ts";
import { setEvent } from "../views/index.ts";
import { Icon } from "./icons.tsx";
import { MenuItem, Popover } from "./Popover.tsx";

export function EventMenu(): JSX.Element | null {
  const here = event.value;
  if (here === null) {
    return null;
  }
  const facts = (
    <>
      <span class="chip-kind">Event</span> <strong class="chip-name">{here.name}</strong>{" "}
      {isDerived(query.value.event) && <span class="tag">derived</span>} <span class="chip-count">{count(here.samples)}</span>
    </>
  );
  // What it shows, as one text.
  const name = ["Event", here.name, isDerived(query.value.event) ? "derived" : "", count(here.samples)].filter(Boolean).join(" ");
  // perf records bookkeeping events that never have samples: they are nothing to choose.
  if (here.samples > 0 && events.value.filter((each) => each.samples > 0).length === 1) {
    return (
      <span class="chip still" title={`${here.name}: ${weight(here.weight, here.name)}. ${NO_OFF_CPU}`}>
        {facts}
      </span>
    );
  }
  return (
    <Popover
      label={
        <>
          {facts} <Icon name="chevron" size={12} />
        </>
      }
      name={name}
      buttonClass="chip event-chip"
      panelClass="menu events-menu"
    >
      {(close) => <Choices close={close} />}
    </Popover>
  );
}

/** Where there is no time off the CPU to choose. */
export const NO_OFF_CPU = "No context switches were recorded. Record with perf record --off-cpu or --switch-events.";

interface NumberedEvent extends EventInfo {
  /** As a query has it. */
  number: number;
}

function Choices({ close }: { close: () => void }): JSX.Element {
  const all = events.value.map((each, number): NumberedEvent => ({ ...each, number }));
  const recorded = all.filter(({ number, samples }) => samples > 0 && !isDerived(number));
  const derived = all.filter(({ number }) => isDerived(number));
  const empty = all.filter(({ number, samples }) => samples === 0 && !isDerived(number));
  return (
    <>
      <Group title={null} events={recorded} close={close} />
      <Group title="Derived" events={derived} close={close} />
      <Group title="No samples" events={empty} close={close} />
      {derived.length === 0 && <p class="menu-note">{NO_OFF_CPU}</p>}
    </>
  );
}

interface GroupProps {
  title: string | null;
  events: readonly NumberedEvent[];
  close: () => void;
}

function Group({ title, events: members, close }: GroupProps): JSX.Element | null {
  if (members.length === 0) {
    return null;
  }
  return (
    <div role="group" aria-label={title ?? "Recorded"}>
      {title !== null && (
        <p class="menu-head" aria-hidden="true">
          {title}
        </p>
      )}
      {members.map((each) => (
        <MenuItem
          close={close}
          key={each.number}
          kind="event-item"
          isOn={each.number === query.value.event}
          disabled={each.samples === 0}
          onChoose={() => setEvent(each.number)}
        >
          <strong class="event-name" title={each.name}>
            {each.name}
          </strong>
          <span class="event-samples">{countSamples(each.samples)}</span>
          <span class="event-weight">{isTelling(each) && weight(each.weight, each.name)}</span>
        </MenuItem>
      ))}
    </div>
  );
}

/** A weight of one for each sample says nothing more. */
function isTelling({ samples, weight }: EventInfo): boolean {
  return samples > 0 && weight !== samples;
}
