// A table of lines or instructions. One row of both tables is chosen; what belongs to it in the other is marked, too.

import type { Signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { percent } from "../../../state/format.ts";
import { ColumnHead, chosenWidths } from "../../rows/columns.tsx";
import { RowsBody, useVirtualRows } from "../../rows/virtual_rows.tsx";
import { rowAfterKey } from "../../rows/window.ts";
import { share } from "../../words.ts";
import { heatStep } from "./hot_lines.ts";
import { chosen } from "./state.ts";

const ROW_HEIGHT = 18;
/** Rows that are shown before and behind one that was chosen elsewhere. */
const AROUND = 3;

interface Props<Row> {
  rows: readonly Row[];
  /** What the table is called. */
  label: string;
  /** For the style sheet, which knows the columns. */
  columns: "lines" | "instructions" | "blocks" | "source" | "assembly" | "assembly-bytes";
  head: ComponentChildren;
  cells: (row: Row) => ComponentChildren;
  /** Numbers of the rows that are chosen, or belong to the one that is. */
  marked: ReadonlySet<number>;
  /** Of these the one that is brought into sight, and that keys go on from; else the first. */
  lead?: number | null;
  onChoose: (row: Row) => void;
  /** The row that a pointer is over; null once it is over none. */
  onPoint?: (row: Row | null) => void;
  /** Follows a row that leads somewhere. */
  onEnter?: (row: Row) => void;
  /** How many letters its longest text has, where all of it can be scrolled to. */
  textColumns?: number;
  /** What Esc takes back. */
  choice?: Signal<unknown>;
  /** What is copied of rows that are marked. */
  copied?: (row: Row) => string;
}

export function HeatGrid<Row>({ rows, label, columns, head, cells, marked, onChoose, ...others }: Props<Row>): JSX.Element {
  const { onEnter, onPoint, textColumns = 0, choice = chosen, copied, lead = null } = others;
  const list = useVirtualRows(rows.length, ROW_HEIGHT);
  const prefix = useId();
  const [firstMarked = -1] = marked;
  const first = lead ?? firstMarked;
  /** Whether what is searched in the chosen row is still to be scrolled to, once the row has an element. */
  const awaitsMatch = useRef(false);
  useEffect(() => {
    // With some of what stands around it.
    if (first >= 0) {
      list.reveal(Math.min(rows.length - 1, first + AROUND));
      list.reveal(Math.max(0, first - AROUND));
      awaitsMatch.current = textColumns > 0;
    }
  }, [first]);
  useEffect(() => {
    if (awaitsMatch.current && first >= list.from && first < list.to) {
      awaitsMatch.current = false;
      const match = list.scroller.current?.querySelector(".row.selected mark");
      match?.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
  });
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
    } else if (isPlain && event.key === "Escape" && choice.peek() !== null) {
      event.preventDefault();
      choice.value = null;
    }
  };
  const onCopy = (event: ClipboardEvent): void => {
    // What is selected as text is the browser's.
    if (copied !== undefined && marked.size > 0 && (getSelection()?.isCollapsed ?? true)) {
      event.preventDefault();
      const texts = [...marked].flatMap((index) => rows[index] ?? []).map(copied);
      event.clipboardData?.setData("text/plain", texts.join("\n"));
    }
  };
  return (
    <div
      class={`rows hot-grid hot-${columns.replace("-", " with-")}`}
      style={{ ...chosenWidths(columns), ...(textColumns === 0 ? {} : { "--text-columns": String(textColumns) }) }}
      role="grid"
      tabIndex={0}
      ref={list.scroller}
      aria-label={label}
      aria-multiselectable="true"
      aria-rowcount={rows.length + 1}
      aria-activedescendant={first >= list.from && first < list.to ? `${prefix}${first}` : undefined}
      onScroll={list.onScroll}
      onKeyDown={onKeyDown}
      onCopy={onCopy}
      {...(onPoint === undefined ? {} : { onPointerLeave: () => onPoint(null) })}
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
              {...(onPoint === undefined ? {} : { onPointerEnter: () => onPoint(row) })}
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
export function HeatHead({ table }: { table: "lines" | "instructions" }): JSX.Element {
  return (
    <>
      <ColumnHead words="Share" kind="number" title="Share of the function's own code" of={{ table, column: "share" }} />
      <span aria-hidden="true" />
      <ColumnHead words="Self" kind="number" title="Share of what is shown" of={{ table, column: "self" }} />
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
