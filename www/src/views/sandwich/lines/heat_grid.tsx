// A table of lines or instructions. One row of both tables is chosen; what belongs to it in the other is marked, too.

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useId } from "preact/hooks";
import { percent } from "../../../state/format.ts";
import { RowsBody, useVirtualRows } from "../../rows/virtual_rows.tsx";
import { rowAfterKey } from "../../rows/window.ts";
import { share } from "../../words.ts";
import { heatStep } from "./hot_lines.ts";
import { chosen } from "./state.ts";

const ROW_HEIGHT = 18;

interface Props<Row> {
  rows: readonly Row[];
  /** What the table is called. */
  label: string;
  /** For the style sheet, which knows the columns. */
  columns: "lines" | "instructions" | "blocks";
  head: ComponentChildren;
  cells: (row: Row) => ComponentChildren;
  /** Numbers of the rows that are chosen, or belong to the one that is. */
  marked: ReadonlySet<number>;
  onChoose: (row: Row) => void;
  /** Follows a row that leads somewhere. */
  onEnter?: (row: Row) => void;
}

export function HeatGrid<Row>({ rows, label, columns, head, cells, marked, onChoose, onEnter }: Props<Row>): JSX.Element {
  const list = useVirtualRows(rows.length, ROW_HEIGHT);
  const prefix = useId();
  const [first = -1] = marked;
  useEffect(() => {
    if (first >= 0) {
      list.reveal(first);
    }
  }, [first]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey;
    const to = isPlain ? rowAfterKey(event.key, first, list.size) : null;
    const row = to === null ? undefined : rows[to];
    const present = rows[first];
    if (row !== undefined) {
      event.preventDefault();
      onChoose(row);
    } else if (isPlain && event.key === "Enter" && onEnter !== undefined && present !== undefined) {
      event.preventDefault();
      onEnter(present);
    } else if (isPlain && event.key === "Escape" && chosen.peek() !== null) {
      event.preventDefault();
      chosen.value = null;
    }
  };
  return (
    <div
      class={`rows hot-grid hot-${columns}`}
      role="grid"
      tabIndex={0}
      ref={list.scroller}
      aria-label={label}
      aria-multiselectable="true"
      aria-rowcount={rows.length + 1}
      aria-activedescendant={first >= list.from && first < list.to ? `${prefix}${first}` : undefined}
      onScroll={list.onScroll}
      onKeyDown={onKeyDown}
    >
      <div class="row-head" role="row" aria-rowindex={1}>
        {head}
      </div>
      <RowsBody rows={list}>
        {rows.slice(list.from, list.to).map((row, place) => {
          const index = list.from + place;
          return (
            <div
              key={index}
              id={`${prefix}${index}`}
              class={marked.has(index) ? "row selected" : "row"}
              role="row"
              aria-rowindex={index + 2}
              aria-selected={marked.has(index)}
              onClick={() => onChoose(row)}
            >
              {cells(row)}
            </div>
          );
        })}
      </RowsBody>
    </div>
  );
}

/** The cells above what all rows have. */
export function HeatHead(): JSX.Element {
  return (
    <>
      <span role="columnheader" class="number" title="Share of the function's own code">
        Share
      </span>
      <span aria-hidden="true" />
      <span role="columnheader" class="number self" title="Share of what is shown">
        Self
      </span>
    </>
  );
}

interface HeatProps {
  weight: number;
  /** The function's own code, its heaviest row, and all that is shown. */
  own: number;
  heaviest: number;
  whole: number;
}

/** The cells that all rows have: share of the function, its bar, and share of what is shown. */
export function HeatCells({ weight, own, heaviest, whole }: HeatProps): JSX.Element {
  const step = heatStep(share(weight, own));
  return (
    <>
      <span role="gridcell" class={step >= 4 ? "number strong" : "number"}>
        {percent(share(weight, own))}
      </span>
      <span class="hot-bar" aria-hidden="true">
        <span class={`hot-${step}`} style={{ width: `${share(weight, heaviest) * 100}%` }} />
      </span>
      <span role="gridcell" class="number self">
        {percent(share(weight, whole))}
      </span>
    </>
  );
}
