// At the right of the heat map's tab: how fine its rows are, what is counted, and of which threads.

import type { JSX } from "preact";
import { events, isDerived, query } from "../state/app.ts";
import { threads } from "../state/event_tasks.ts";
import { count } from "../state/format.ts";
import { Icon } from "../shell/icons.tsx";
import { Popover } from "../shell/Popover.tsx";
import { Segmented } from "../shell/Segmented.tsx";
import { setEvent, setThreads } from "../views/query_steps.ts";
import type { Rows } from "./grid.ts";
import { periodFor, timeOfCell } from "./grid.ts";
import { rows } from "./model.ts";
import { NO_OFF_CPU } from "../shell/EventMenu.tsx";
import { timeInSight } from "../timeline/state.ts";
import { isOffCpu, roundTime } from "./words.ts";

const ROWS: readonly Rows[] = [100, 50, 20];

export function HeatMapOptions(): JSX.Element {
  const offCpu = events.value.findIndex(
    ({ name, samples }, index) => isDerived(index) && name.startsWith("offcpu-time") && samples > 0,
  );
  const isOff = isOffCpu();
  const period = periodFor(timeInSight.value);
  return (
    <div class="view-options heat-options">
      <span class="choice-label">Row</span>
      <Segmented
        label="Row"
        choice={rows}
        choices={ROWS.map((each) => [each, roundTime(timeOfCell({ period, rows: each }))] as const)}
      />
      <Segmented
        label="What is counted"
        value={isOff ? "off-cpu" : "samples"}
        choices={[
          ["samples", "Samples"],
          ["off-cpu", "Off-CPU", offCpu === -1 ? NO_OFF_CPU : undefined],
        ]}
        onChoose={(what) => {
          if (what === "off-cpu" || isOff) {
            setEvent(what === "off-cpu" ? offCpu : 0);
          }
        }}
      />
      <Threads />
    </div>
  );
}

/** More are chosen by their process, in the context bar. */
const MOST_THREADS = 200;

function Threads(): JSX.Element {
  const chosen = query.value.threads;
  const words =
    chosen.length === 0 ? `all ${count(threads.value.length)}` : `${count(chosen.length)} of ${count(threads.value.length)}`;
  return (
    <Popover
      label={
        <>
          Threads <strong>{words}</strong> <Icon name="chevron" size={12} />
        </>
      }
      buttonClass="chip"
      panelClass="menu heat-threads"
      name={`Threads ${words}`}
    >
      {() => (
        <>
          <button type="button" class="menu-item" aria-pressed={chosen.length === 0} onClick={() => setThreads([])}>
            All threads
          </button>
          {threads.value.slice(0, MOST_THREADS).map(({ tid, name }) => (
            <button
              key={tid}
              type="button"
              class="menu-item"
              aria-pressed={chosen.includes(tid)}
              onClick={() => setThreads(chosen.includes(tid) ? chosen.filter((each) => each !== tid) : [...chosen, tid])}
            >
              {name} <span class="timeline-count push-right">{tid}</span>
            </button>
          ))}
          {threads.value.length > MOST_THREADS && (
            <p class="menu-head">{count(threads.value.length - MOST_THREADS)} more threads: choose them under Processes</p>
          )}
        </>
      )}
    </Popover>
  );
}
