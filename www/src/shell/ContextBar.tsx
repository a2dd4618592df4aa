// What is shown of the profile: the event, and how many samples of how many.

import type { JSX } from "preact";
import { event, events, isDerived, query } from "../state/app.ts";
import { count, weight } from "../state/format.ts";
import { setEvent } from "../views/index.ts";
import { Icon } from "./icons.tsx";
import { Popover } from "./Popover.tsx";

export function ContextBar(): JSX.Element {
  // Nothing filters yet: what is shown is the whole event.
  const all = event.value?.samples ?? 0;
  return (
    <div class="context-bar">
      <EventChip />
      <p class="showing" aria-live="polite">
        Showing <strong>{count(all)}</strong> of {count(all)} samples
      </p>
    </div>
  );
}

function EventChip(): JSX.Element | null {
  const here = event.value;
  if (here === null) {
    return null;
  }
  const facts = (
    <>
      <span class="chip-kind">Event</span> <strong>{here.name}</strong> <span class="chip-count">{count(here.samples)}</span>
    </>
  );
  // perf records bookkeeping events that never have samples: they are nothing to choose.
  if (here.samples > 0 && events.value.filter((each) => each.samples > 0).length === 1) {
    return <span class="chip still" title={weight(here.weight, here.name)}>{facts}</span>;
  }
  return (
    <Popover label={<>{facts} <Icon name="chevron" size={12} /></>} name={`Event: ${here.name}`} buttonClass="chip event-chip" panelClass="menu events-menu">
      {(close) =>
        events.value.map((each, index) => (
          <button
            key={index}
            type="button"
            class="menu-item"
            aria-pressed={index === query.value.event}
            disabled={each.samples === 0}
            onClick={() => {
              close();
              setEvent(index);
            }}
          >
            <strong>{each.name}</strong>
            {isDerived(index) ? <span>(derived)</span> : null}
            <span class="push-right">{count(each.samples)} samples</span>
            <span class="event-weight">{weight(each.weight, each.name)}</span>
          </button>
        ))
      }
    </Popover>
  );
}
