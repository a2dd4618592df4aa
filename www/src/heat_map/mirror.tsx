// The grid for the keyboard and for those who do not see it: the cell that keys are on, and those around it.

import type { JSX, RefObject } from "preact";
import { showsFocus } from "../timeline/pointed.ts";
import { rangeShown } from "../timeline/state.ts";
import { cellsOf, spanOfCell } from "./grid.ts";
import type { HeatModel } from "./model.ts";
import { axisWords, cellLabel } from "./words.ts";

export function HeatMirror({ model, grid: element }: { model: HeatModel; grid: RefObject<HTMLDivElement | null> }): JSX.Element {
  const grid = model.grid.value;
  const place = model.cursor.value - grid.first * grid.rows;
  const column = Math.min(grid.columns - 1, Math.max(0, Math.floor(place / grid.rows)));
  const row = Math.min(grid.rows - 1, Math.max(0, place - column * grid.rows));
  const range = rangeShown.value;
  const chosen = range === null ? null : cellsOf(range, grid);
  const samples = model.answer.value?.map.samples;
  const near = (at: number, most: number): number[] => [at - 1, at, at + 1].filter((each) => each >= 0 && each < most);
  return (
    <div
      ref={element}
      class="heat-mirror"
      role="grid"
      tabIndex={0}
      aria-label={`Heat map: ${axisWords(grid)}`}
      aria-rowcount={grid.rows}
      aria-colcount={grid.columns}
      aria-multiselectable="true"
      aria-activedescendant={`heat-${column}-${row}`}
      onFocus={(event) => model.focused(event.currentTarget.dataset.pointed === undefined)}
      onKeyDown={showsFocus.onKeyDown}
      onBlur={(event) => {
        showsFocus.onBlur(event);
        model.focused(false);
      }}
    >
      {near(row, grid.rows).map((r) => (
        <div key={r} role="row" aria-rowindex={r + 1}>
          {near(column, grid.columns).map((c) => {
            const at = c * grid.rows + r;
            const span = spanOfCell(at + grid.first * grid.rows, grid);
            return (
              <div
                key={c}
                id={`heat-${c}-${r}`}
                role="gridcell"
                aria-colindex={c + 1}
                aria-selected={chosen !== null && at >= chosen[0] && at < chosen[1]}
                aria-label={cellLabel(span, samples?.[at] ?? 0, grid)}
              />
            );
          })}
        </div>
      ))}
    </div>
  );
}
