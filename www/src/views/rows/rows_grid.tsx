// A table of functions: the rows in sight, of which one may be selected. Arrow keys move the selection and Esc takes it
// back; the caller knows the columns.

import type { Signal } from "@preact/signals";
import { useSignal, useSignalEffect } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useId } from "preact/hooks";
import { FunctionName } from "../function_name.tsx";
import type { Table } from "./columns.tsx";
import { chosenWidths } from "./columns.tsx";
import type { Columns, LoadedRow, LoadedRows } from "./loaded_rows.ts";
import { RowsBody, useVirtualRows } from "./virtual_rows.tsx";
import { rowAfterKey } from "./window.ts";

interface Props<Question, Rows extends Columns, Selected> {
  model: LoadedRows<Question, Rows>;
  /** As `useVirtualRows` takes it. */
  rowHeight: number;
  /** What the table is called. */
  label: string;
  /** Which columns it has, as the style sheet knows them. */
  columns: Table;
  /** The cells above the columns. */
  head: ComponentChildren;
  cells: (row: LoadedRow<Rows>) => ComponentChildren;
  /** What Esc takes back. */
  selection: Signal<Selected | null>;
  /** The selected row's `functionId`; null if no row is. */
  selected: number | null;
  onSelect: (row: LoadedRow<Rows>) => void;
  /** The menu of the selected row: of the pointer's row, once that is selected, or of the whole table by keyboard. */
  onMenu?: { ofRow: (at: { x: number; y: number }) => void; ofTable: (at: Element) => void };
  /** What stands below the rows, of which those before `visibleTo` are wholly visible. */
  foot?: (visibleTo: number) => JSX.Element;
}

export function RowsGrid<Question, Rows extends Columns, Selected>(props: Props<Question, Rows, Selected>): JSX.Element {
  const { model, selection, selected, onSelect, onMenu } = props;
  void model.newest.value;
  const list = useVirtualRows(model.count.value, props.rowHeight);
  useEffect(() => model.want(list.from, list.to), [model, list.from, list.to]);
  useEffect(() => () => model.drop(), [model]);
  // A row that keys moved to may not be loaded yet; it is selected when it is.
  const focused = useSignal(-1);
  useSignalEffect(() => {
    void model.newest.value;
    const row = focused.value < 0 ? null : model.row(focused.value);
    if (row) {
      focused.value = -1;
      onSelect(row);
    }
  });
  const at = selected === null ? -1 : model.indexOf(selected);
  const isLoaded = at >= 0;
  useEffect(() => {
    if (isLoaded) {
      list.reveal(at);
    }
  }, [selected, isLoaded]);
  const prefix = useId();
  const onKeyDown = (event: KeyboardEvent): void => {
    const plain = !event.ctrlKey && !event.metaKey && !event.altKey;
    const to = plain ? rowAfterKey(event.key, focused.peek() >= 0 ? focused.peek() : at, list.size) : null;
    if (to !== null) {
      event.preventDefault();
      focused.value = to;
      list.reveal(to);
    } else if (plain && event.key === "Escape" && selection.peek()) {
      event.stopPropagation();
      selection.value = null;
    }
  };
  const indexes = Array.from({ length: list.to - list.from }, (_, i) => list.from + i);
  return (
    <>
      <div
        class="rows"
        role="grid"
        tabIndex={0}
        ref={list.scroller}
        aria-label={props.label}
        style={chosenWidths(props.columns)}
        aria-rowcount={list.size.count + 1}
        aria-activedescendant={at >= list.from && at < list.to ? `${prefix}${at}` : undefined}
        onScroll={list.onScroll}
        onKeyDown={onKeyDown}
        onContextMenu={
          onMenu &&
          ((event) => {
            event.preventDefault();
            onMenu.ofTable(event.currentTarget.querySelector(".row.selected") ?? event.currentTarget);
          })
        }
      >
        <div class="row-head" role="row" aria-rowindex={1}>
          {props.head}
        </div>
        <RowsBody rows={list}>
          {indexes.map((index) => {
            const row = model.row(index);
            return row === null ? (
              <LoadingRow key={index} index={index} />
            ) : (
              <div
                key={index}
                id={`${prefix}${index}`}
                class={index === at ? "row selected" : "row"}
                role="row"
                aria-rowindex={index + 2}
                aria-selected={index === at}
                onClick={() => onSelect(row)}
                onContextMenu={
                  onMenu &&
                  ((event) => {
                    event.preventDefault();
                    event.stopPropagation();
                    onSelect(row);
                    onMenu.ofRow({ x: event.clientX, y: event.clientY });
                  })
                }
              >
                {props.cells(row)}
              </div>
            );
          })}
        </RowsBody>
      </div>
      {props.foot?.(list.visibleTo)}
    </>
  );
}

function LoadingRow({ index }: { index: number }): JSX.Element {
  return <div class="row loading" role="row" aria-rowindex={index + 2} aria-busy="true" />;
}

interface NameCellProps {
  name: string;
  kind: number;
  flags: number;
  /** What is said beside the name. */
  children?: ComponentChildren;
}

/** The cell of a row's name, with the colour of its kind. */
export function NameCell({ children, ...named }: NameCellProps): JSX.Element {
  return (
    <span role="gridcell" class="name">
      <FunctionName {...named} />
      {children}
    </span>
  );
}
