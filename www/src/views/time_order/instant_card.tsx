// Beside the pointer on the timeline: the stack at that instant, innermost last, as it stands below.

import type { JSX } from "preact";
import { threadNames } from "../../state/event_tasks.ts";
import { counted } from "../../state/format.ts";
import { pointedInstant } from "../../timeline/state.ts";
import { usePlacedCard } from "../placed_card.ts";
import { stackAtPointer } from "./instant.ts";

/** Innermost calls that are listed. */
const MOST_CALLS = 14;

export function InstantCard(): JSX.Element | null {
  const [at, stack] = [pointedInstant.value, stackAtPointer.value];
  const element = usePlacedCard(at, stack);
  if (at === null || stack === null) {
    return null;
  }
  const { calls, tid } = stack;
  const above = calls.length - MOST_CALLS;
  return (
    <div class="time-tip instant-card" ref={element} aria-hidden="true">
      <strong>{`${threadNames.value.get(tid) ?? ""} ${tid}`.trim()}</strong>
      {calls.length === 0 && <span class="ink-mute">not sampled here</span>}
      {above > 0 && <span class="ink-mute">{counted(above, "call", "calls")} above</span>}
      {calls.slice(-MOST_CALLS).map(({ name, row }) => (
        <span key={row}>{name}</span>
      ))}
    </div>
  );
}
