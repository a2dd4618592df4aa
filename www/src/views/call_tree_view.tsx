// The call tree as rows: total, self, call node, DSO. Children are loaded when a row is opened.

import { useSignalEffect } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useId } from "preact/hooks";
import { ALL } from "../session/types.ts";
import { namesGeneration, phase, query, selection, session } from "../state/app.ts";
import { percent } from "../state/format.ts";
import { noSamples } from "./empty.ts";
import { EmptyView } from "./empty_view.tsx";
import { ForcedMark, markedName } from "./forced_name.tsx";
import { setDirection } from "./query_steps.ts";
import type { CallTreeModel } from "./rows/tree_model.ts";
import { callTree } from "./rows/tree_model.ts";
import type { TreeRow } from "./rows/tree_rows.ts";
import { hasChildren, rowAfterLeft, rowAfterRight } from "./rows/tree_rows.ts";
import { RowsBody, ShareBar, useVirtualRows } from "./rows/virtual_rows.tsx";
import { rowAfterKey } from "./rows/window.ts";
import { idAt, nameClass, share, swatchClass } from "./words.ts";

const ROW_HEIGHT = 22;
const INDENT = 14;
/** What the column keeps for the name, however deep: deeper rows are indented no further. */
const NAME_WIDTH = 220;

export function CallTreeView(): JSX.Element {
  const model = callTree;
  useSignalEffect(() => {
    const asked = session.value;
    const names = namesGeneration.value;
    if (asked !== null && phase.value.kind === "open") {
      void model.ask({ session: asked, query: query.value, names });
    }
  });
  const rows = model.rows.value;
  const list = useVirtualRows(rows.length, ROW_HEIGHT);
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
  const onKeyDown = (event: KeyboardEvent): void => {
    if (!event.ctrlKey && !event.metaKey && !event.altKey && treeKey(event.key, model, at, list.size)) {
      event.preventDefault();
      event.stopPropagation();
    }
  };
  const failure = model.failure.value;
  return (
    <section class="table-view call-tree" aria-label="Call tree">
      <EmptyView words={failure === null ? noSamples() : { text: failure, event: null }} />
      <div
        class="rows"
        role="treegrid"
        tabIndex={0}
        ref={list.scroller}
        aria-label={query.value.direction === "callees" ? "Call tree" : "Call tree, inverted"}
        aria-rowcount={rows.length + 1}
        aria-busy={model.working.value > 0}
        aria-activedescendant={at >= list.from && at < list.to ? `${prefix}${selected}` : undefined}
        onScroll={list.onScroll}
        onKeyDown={onKeyDown}
      >
        <div class="row-head" role="row" aria-rowindex={1}>
          <span role="columnheader" class="number">Total</span>
          <span aria-hidden="true" />
          <span role="columnheader" class="number">Self</span>
          <span role="columnheader">Call node</span>
          <span role="columnheader" class="dso">DSO</span>
        </div>
        <RowsBody rows={list}>
          {rows.slice(list.from, list.to).map((row, i) => (
            <Row
              key={row.callNode}
              id={`${prefix}${row.callNode}`}
              row={row}
              rowIndex={list.from + i + 2}
              isOpen={model.open.value.has(row.callNode)}
              isSelected={row.callNode === selected}
              whole={model.whole.value}
              onSelect={() => select(row)}
              onToggle={() => model.toggle(row.callNode)}
            />
          ))}
        </RowsBody>
      </div>
    </section>
  );
}

function select({ callNode, columns, index }: TreeRow): void {
  selection.value = { callNode, functionId: idAt(columns.functionId, index) };
}

/** Whether the key was one of the tree's. */
function treeKey(key: string, model: CallTreeModel, at: number, size: Parameters<typeof rowAfterKey>[2]): boolean {
  const rows = model.rows.peek();
  const open = model.open.peek();
  const row = rows[at];
  const go = (to: number | null): void => {
    const next = to === null ? undefined : rows[to];
    if (next) {
      select(next);
    }
  };
  if (key === "i") {
    setDirection(query.peek().direction === "callees" ? "inverted" : "callees");
    return true;
  }
  if (key === "*") {
    void model.openAllBelow(row?.callNode ?? ALL);
    return true;
  }
  if (key === "Escape") {
    selection.value = null;
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

interface RowProps {
  id: string;
  row: TreeRow;
  rowIndex: number;
  isOpen: boolean;
  isSelected: boolean;
  whole: number;
  onSelect: () => void;
  onToggle: () => void;
}

function Row({ id, row, rowIndex, isOpen, isSelected, whole, onSelect, onToggle }: RowProps): JSX.Element {
  const { columns, index, depth } = row;
  const kind = columns.kind[index] as number;
  const flags = columns.flags[index] as number;
  const name = columns.names[index] ?? "";
  const total = share(columns.total[index] as number, whole);
  const canOpen = hasChildren(row);
  return (
    <div
      id={id}
      class={isSelected ? "row selected" : "row"}
      role="row"
      aria-rowindex={rowIndex}
      aria-level={depth + 1}
      aria-posinset={index + 1}
      aria-setsize={columns.callNode.length}
      aria-expanded={canOpen ? isOpen : undefined}
      aria-selected={isSelected}
      onClick={onSelect}
      onDblClick={onToggle}
    >
      <span role="gridcell" class="number strong">{percent(total)}</span>
      <ShareBar share={total} />
      <span role="gridcell" class="number">{percent(share(columns.self[index] as number, whole))}</span>
      <span role="gridcell" class="name" style={{ paddingLeft: `max(0px, min(${depth * INDENT}px, 100% - ${NAME_WIDTH}px))` }}>
        <span
          class={canOpen ? (isOpen ? "twisty open" : "twisty") : "twisty none"}
          aria-hidden="true"
          onClick={(event) => {
            event.stopPropagation();
            onToggle();
          }}
        />
        <span class={swatchClass(kind, flags)} />
        <ForcedMark flags={flags} />
        <span class={nameClass(kind, flags)} title={markedName(name, flags)}>{name}</span>
      </span>
      <span role="gridcell" class="dso">{columns.dsos[index]}</span>
    </div>
  );
}
