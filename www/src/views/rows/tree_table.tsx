// A call tree as rows. Children are loaded when a row is opened. The table of a view has a column for everything; beside
// the functions there is less room, and the numbers stand at the right.

import type { ReadonlySignal, Signal } from "@preact/signals";
import { useSignalEffect } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useId } from "preact/hooks";
import type { Query } from "../../session/types.ts";
import { ALL } from "../../session/types.ts";
import { openTransformMenu, openTransformMenuAt } from "../../shell/ContextMenu.tsx";
import type { Selection } from "../../state/app.ts";
import { namesGeneration, phase, session } from "../../state/app.ts";
import { percent } from "../../state/format.ts";
import { ForcedMark, markedName } from "../forced_name.tsx";
import { idAt, nameClass, share, swatchClass } from "../words.ts";
import type { CallTreeModel } from "./tree_model.ts";
import type { TreeRow } from "./tree_rows.ts";
import { hasChildren, rowAfterLeft, rowAfterRight } from "./tree_rows.ts";
import { RowsBody, ShareBar, useVirtualRows } from "./virtual_rows.tsx";
import { rowAfterKey } from "./window.ts";

const ROW_HEIGHT = { table: 22, beside: 24 } as const;
const INDENT = 14;
/** What the column keeps for the name, however deep: deeper rows are indented no further. */
const NAME_WIDTH = { table: 220, beside: 110 } as const;

interface Props {
  model: CallTreeModel;
  /** Whose tree it is; null while there is none. */
  query: ReadonlySignal<Query | null>;
  selection: Signal<Selection | null>;
  label: string;
  shape: "table" | "beside";
  /** What Enter does, where it does not open the row. */
  onEnter?: (row: TreeRow) => void;
}

export function TreeTable({ model, query, selection, label, shape, onEnter }: Props): JSX.Element {
  useSignalEffect(() => {
    const [asked, of, names] = [session.value, query.value, namesGeneration.value];
    if (asked !== null && of !== null && phase.value.kind === "open") {
      void model.ask({ session: asked, query: of, names });
    }
  });
  const rows = model.rows.value;
  const list = useVirtualRows(rows.length, ROW_HEIGHT[shape]);
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
  const select = ({ callNode, columns, index }: TreeRow): void => {
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
  const onMenu = (event: MouseEvent, row: TreeRow | undefined): void => {
    event.preventDefault();
    if (row) {
      select(row);
      openTransformMenu({ x: event.clientX, y: event.clientY });
    } else if (event.currentTarget instanceof Element) {
      openTransformMenuAt(event.currentTarget.querySelector(".row.selected") ?? event.currentTarget);
    }
  };
  return (
    <div
      class={`rows tree-rows tree-${shape}`}
      role="treegrid"
      tabIndex={0}
      ref={list.scroller}
      aria-label={label}
      aria-rowcount={rows.length + 1}
      aria-busy={model.working.value > 0}
      aria-activedescendant={at >= list.from && at < list.to ? `${prefix}${selected}` : undefined}
      onScroll={list.onScroll}
      onKeyDown={onKeyDown}
      onContextMenu={(event) => onMenu(event, undefined)}
    >
      <div class="row-head" role="row" aria-rowindex={1}>
        <Cells
          shape={shape}
          total={<span role="columnheader" class="number">Total</span>}
          bar={<span aria-hidden="true" />}
          self={<span role="columnheader" class="number">Self</span>}
          name={<span role="columnheader">Call node</span>}
          dso={<span role="columnheader" class="dso">DSO</span>}
        />
      </div>
      <RowsBody rows={list}>
        {rows.slice(list.from, list.to).map((row, i) => (
          <Row
            key={row.callNode}
            id={`${prefix}${row.callNode}`}
            row={row}
            shape={shape}
            rowIndex={list.from + i + 2}
            isOpen={model.open.value.has(row.callNode)}
            isSelected={row.callNode === selected}
            whole={model.whole.value}
            onSelect={() => select(row)}
            onToggle={() => model.toggle(row.callNode)}
            onEnter={onEnter}
            onMenu={(event) => {
              event.stopPropagation();
              onMenu(event, row);
            }}
          />
        ))}
      </RowsBody>
    </div>
  );
}

/** Whether the key was one of the tree's. */
function treeKey(
  key: string,
  model: CallTreeModel,
  at: number,
  size: Parameters<typeof rowAfterKey>[2],
  select: (row: TreeRow) => void,
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

interface CellsProps {
  shape: Props["shape"];
  total: JSX.Element;
  bar: JSX.Element;
  self: JSX.Element;
  name: JSX.Element;
  dso: JSX.Element | null;
}

/** The cells of a row, in the order of its shape. */
function Cells({ shape, total, bar, self, name, dso }: CellsProps): JSX.Element {
  return shape === "table" ? <>{total}{bar}{self}{name}{dso}</> : <>{name}{bar}{total}{self}</>;
}

interface RowProps {
  id: string;
  row: TreeRow;
  shape: Props["shape"];
  rowIndex: number;
  isOpen: boolean;
  isSelected: boolean;
  whole: number;
  onSelect: () => void;
  onToggle: () => void;
  onEnter: ((row: TreeRow) => void) | undefined;
  onMenu: (event: MouseEvent) => void;
}

function Row({ id, row, shape, rowIndex, isOpen, isSelected, whole, onSelect, onToggle, onEnter, onMenu }: RowProps): JSX.Element {
  const { columns, index, depth } = row;
  const kind = columns.kind[index] as number;
  const flags = columns.flags[index] as number;
  const name = columns.names[index] ?? "";
  const dso = columns.dsos[index] ?? "";
  const total = share(columns.total[index] as number, whole);
  const canOpen = hasChildren(row);
  return (
    <div
      id={id}
      class={isSelected ? "row selected" : "row"}
      role="row"
      aria-rowindex={rowIndex}
      aria-level={depth + 1}
      aria-posinset={columns.posInSet[index]}
      aria-setsize={columns.setSize[index]}
      aria-expanded={canOpen ? isOpen : undefined}
      aria-selected={isSelected}
      onClick={onSelect}
      onDblClick={() => (onEnter ? onEnter(row) : onToggle())}
      onContextMenu={onMenu}
    >
      <Cells
        shape={shape}
        total={<span role="gridcell" class={shape === "table" ? "number strong" : "number"}>{percent(total)}</span>}
        bar={<ShareBar share={total} />}
        self={<span role="gridcell" class="number">{percent(share(columns.self[index] as number, whole))}</span>}
        name={(
          <span
            role="gridcell"
            class="name"
            style={{ paddingLeft: `max(0px, min(${depth * INDENT}px, 100% - ${NAME_WIDTH[shape]}px))` }}
          >
            <span
              class={canOpen ? (isOpen ? "twisty open" : "twisty") : "twisty none"}
              aria-hidden="true"
              onClick={(event) => {
                event.stopPropagation();
                onToggle();
              }}
              onDblClick={(event) => event.stopPropagation()}
            />
            <span class={swatchClass(kind, flags)} />
            <ForcedMark flags={flags} />
            <span class={nameClass(kind, flags)} title={markedName(name, flags)}>{name}</span>
            {shape === "beside" && dso !== "" ? <span class="name-dso">{dso}</span> : null}
          </span>
        )}
        dso={<span role="gridcell" class="dso">{dso}</span>}
      />
    </div>
  );
}
