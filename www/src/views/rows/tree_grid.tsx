// A call tree as rows of which the caller knows the cells. Children are loaded when a row is opened; Left and Right close
// and open, and Esc takes the selection back.

import type { Signal } from "@preact/signals";
import { useSignalEffect } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useId } from "preact/hooks";
import { ALL } from "../../session/types.ts";
import type { Selection } from "../../state/app.ts";
import { FunctionName } from "../function_name.tsx";
import { idAt } from "../words.ts";
import type { Table } from "./columns.tsx";
import { chosenWidths } from "./columns.tsx";
import type { TreeModel, TreeSource } from "./tree_model.ts";
import type { TreeColumns, TreeRow } from "./tree_rows.ts";
import { hasChildren, rowAfterLeft, rowAfterRight } from "./tree_rows.ts";
import { RowsBody, useVirtualRows } from "./virtual_rows.tsx";
import type { ListSize } from "./window.ts";
import { rowAfterKey } from "./window.ts";

const INDENT = 14;

interface Props<Columns extends TreeColumns> {
  model: TreeModel<Columns>;
  /** Whose tree it is; null while there is none. Reads signals: it is asked again when they change. */
  source: () => TreeSource<Columns> | null;
  selection: Signal<Selection | null>;
  label: string;
  /** Which columns it has, as the style sheet knows them. */
  columns: Table;
  /** As `useVirtualRows` takes it. */
  rowHeight: number;
  /** What the column of names keeps for a name, in CSS pixels: deeper rows are indented no further. */
  nameWidth: number;
  /** The cells above the columns. */
  head: ComponentChildren;
  /** The cells of a row, of which `name` is one. */
  cells: (row: TreeRow<Columns>, name: JSX.Element) => ComponentChildren;
  /** What stands behind a name in its cell. */
  behindName?: (row: TreeRow<Columns>) => ComponentChildren;
  /** What Enter does, where it does not open the row. */
  onEnter?: ((row: TreeRow<Columns>) => void) | undefined;
  /** The menu of the selected row: of the pointer's row, once that is selected, or of the whole table by keyboard. */
  onMenu?: { ofRow: (at: { x: number; y: number }) => void; ofTable: (at: Element) => void };
}

export function TreeGrid<Columns extends TreeColumns>(props: Props<Columns>): JSX.Element {
  const { model, selection, onEnter, onMenu } = props;
  useSignalEffect(() => {
    const source = props.source();
    if (source !== null) {
      void model.ask(source);
    }
  });
  const rows = model.rows.value;
  const list = useVirtualRows(rows.length, props.rowHeight);
  const selected = selection.value?.callNode ?? null;
  const at = selected === null ? -1 : rows.findIndex((row) => row.callNode === selected);
  const isShown = at >= 0;
  useEffect(() => {
    if (isShown) {
      list.reveal(at);
    }
  }, [selected, isShown]);
  useSignalEffect(() => {
    const wanted = selection.value?.callNode ?? null;
    if (wanted !== null && wanted !== ALL && model.children.peek().has(ALL)) {
      if (!model.rows.peek().some((row) => row.callNode === wanted)) {
        void model.openPathTo(wanted);
      }
    }
  });
  const prefix = useId();
  const select = ({ callNode, columns, index }: TreeRow<Columns>): void => {
    selection.value = { callNode, functionId: idAt(columns.functionId, index) };
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    const row = rows[at];
    if (event.key === "Escape") {
      if (selection.peek() !== null) {
        selection.value = null;
        event.stopPropagation();
      }
    } else if (event.key === "Enter" && row && onEnter) {
      onEnter(row);
      event.preventDefault();
    } else if (treeKey(event.key, model, at, list.size, select)) {
      event.preventDefault();
      event.stopPropagation();
    }
  };
  return (
    <div
      class={`rows tree-rows tree-${props.columns}`}
      role="treegrid"
      tabIndex={0}
      ref={list.scroller}
      aria-label={props.label}
      style={chosenWidths(props.columns)}
      aria-rowcount={rows.length + 1}
      aria-busy={model.working.value > 0}
      aria-activedescendant={at >= list.from && at < list.to ? `${prefix}${selected}` : undefined}
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
        {rows.slice(list.from, list.to).map((row, i) => {
          const canOpen = hasChildren(row);
          const isOpen = model.open.value.has(row.callNode);
          const toggle = (): void => model.toggle(row.callNode);
          return (
            <div
              // By place: call nodes get other numbers when names arrive, and a click needs the element that it began on.
              key={list.from + i}
              id={`${prefix}${row.callNode}`}
              class={row.callNode === selected ? "row selected" : "row"}
              role="row"
              aria-rowindex={list.from + i + 2}
              aria-level={row.depth + 1}
              aria-posinset={row.columns.posInSet[row.index]}
              aria-setsize={row.columns.setSize[row.index]}
              aria-expanded={canOpen ? isOpen : undefined}
              aria-selected={row.callNode === selected}
              onClick={() => select(row)}
              onDblClick={() => (onEnter ? onEnter(row) : toggle())}
              onContextMenu={
                onMenu &&
                ((event) => {
                  event.preventDefault();
                  event.stopPropagation();
                  select(row);
                  onMenu.ofRow({ x: event.clientX, y: event.clientY });
                })
              }
            >
              {props.cells(
                row,
                <NameCell
                  row={row}
                  opens={canOpen ? (isOpen ? "open" : "closed") : "never"}
                  nameWidth={props.nameWidth}
                  onToggle={toggle}
                >
                  {props.behindName?.(row)}
                </NameCell>,
              )}
            </div>
          );
        })}
      </RowsBody>
    </div>
  );
}

interface NameCellProps {
  row: TreeRow;
  opens: "open" | "closed" | "never";
  nameWidth: number;
  onToggle: () => void;
  children: ComponentChildren;
}

function NameCell({ row: { columns, index, depth }, opens, nameWidth, onToggle, children }: NameCellProps): JSX.Element {
  return (
    <span role="gridcell" class="name" style={{ paddingLeft: `max(0px, min(${depth * INDENT}px, 100% - ${nameWidth}px))` }}>
      <span
        class={{ open: "twisty open", closed: "twisty", never: "twisty none" }[opens]}
        aria-hidden="true"
        onClick={(event) => {
          event.stopPropagation();
          onToggle();
        }}
        onDblClick={(event) => event.stopPropagation()}
      />
      <FunctionName
        name={columns.names[index] ?? ""}
        kind={columns.kind[index] as number}
        flags={columns.flags[index] as number}
      />
      {children}
    </span>
  );
}

/** Whether the key was one of the tree's. */
function treeKey<Columns extends TreeColumns>(
  key: string,
  model: TreeModel<Columns>,
  at: number,
  size: ListSize,
  select: (row: TreeRow<Columns>) => void,
): boolean {
  const rows = model.rows.peek();
  const open = model.open.peek();
  const row = rows[at];
  const go = (to: number | null): void => {
    const next = to === null ? undefined : rows[to];
    if (next) {
      select(next);
    }
  };
  if (key === "*") {
    void model.openAllBelow(row?.callNode ?? ALL);
    return true;
  }
  if (row && (key === "Enter" || key === " ")) {
    model.toggle(row.callNode);
    return true;
  }
  if (row && key === "ArrowRight") {
    const to = rowAfterRight(rows, at, open);
    if (to === "open") {
      model.toggle(row.callNode);
    } else {
      go(to);
    }
    return true;
  }
  if (row && key === "ArrowLeft") {
    const to = rowAfterLeft(rows, at, open);
    if (to === "close") {
      model.close(row.callNode);
    } else {
      go(to);
    }
    return true;
  }
  const to = rowAfterKey(key, at, size);
  go(at < 0 && to !== null && key !== "End" ? 0 : to);
  return to !== null;
}
