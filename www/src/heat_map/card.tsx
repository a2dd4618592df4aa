// The card beside the pointer: what one cell is.

import type { JSX } from "preact";
import { count } from "../state/format.ts";
import { rangeShown } from "../timeline/state.ts";
import type { TimeSpan } from "../timeline/time_window.ts";
import { usePlacedCard } from "../views/placed_card.ts";
import type { HeatModel } from "./model.ts";
import { busyWords, cellSpan, isOffCpu } from "./words.ts";

export function HeatCard({ model }: { model: HeatModel }): JSX.Element | null {
  const content = model.card.value;
  const element = usePlacedCard(content);
  if (content === null) {
    return null;
  }
  const { span, cell } = content;
  const where = placeInRange(span, rangeShown.value);
  const cpus = model.answer.value?.map.cpus ?? 0;
  return (
    <div ref={element} class="hover-card heat-card" aria-hidden="true">
      <strong>{cellSpan(span, model.grid.value)}</strong>
      {where !== null && <p class="card-place">{where}</p>}
      <dl>
        <dt>Samples</dt>
        <dd>
          <strong>{count(cell.samples)}</strong>
        </dd>
        {cell.cpusBusy !== null && (
          <>
            <dt>{isOffCpu() ? "Threads off-CPU" : "CPUs busy"}</dt>
            <dd>{busyWords(cell.cpusBusy, cpus)}</dd>
          </>
        )}
        {cell.mostly !== null && (
          <>
            <dt>Mostly</dt>
            <dd>
              <code>{cell.mostly}</code>
            </dd>
          </>
        )}
      </dl>
    </div>
  );
}

function placeInRange(cell: TimeSpan, range: TimeSpan | null): string | null {
  if (range === null || cell.end <= range.start || cell.start >= range.end) {
    return null;
  }
  const [isFirst, isLast] = [cell.start <= range.start, cell.end >= range.end];
  return isFirst && isLast ? "all of the range" : isFirst ? "start of the range" : isLast ? "end of the range" : "in the range";
}
