// The functions table: self, total, function, DSO; sorted by the session, selected across all views.

import { useSignal, useSignalEffect } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useId } from "preact/hooks";
import type { FunctionsOrder } from "../session/types.ts";
import { functionsOrder, namesGeneration, phase, query, selection, session } from "../state/app.ts";
import { count, percent } from "../state/format.ts";
import { noSamples } from "./empty.ts";
import { EmptyView } from "./empty_view.tsx";
import { ForcedMark, markedName } from "./forced_name.tsx";
import type { FunctionRow } from "./rows/functions_model.ts";
import { functionsTable } from "./rows/functions_model.ts";
import { RowsBody, ShareBar, useVirtualRows } from "./rows/virtual_rows.tsx";
import { rowAfterKey } from "./rows/window.ts";
import { idAt, nameClass, share, swatchClass } from "./words.ts";

const ROW_HEIGHT = 24;

export function FunctionsView(): JSX.Element {
  const model = functionsTable;
  useSignalEffect(() => {
    const asked = session.value;
    const names = namesGeneration.value;
    if (asked !== null && phase.value.kind === "open") {
      model.ask({ session: asked, query: query.value, order: functionsOrder.value, names });
    }
  });
  void model.arrivals.value;
  const list = useVirtualRows(model.count.value, ROW_HEIGHT);
  useEffect(() => model.want(list.from, list.to), [model, list.from, list.to]);
  const selected = selection.value?.functionId ?? null;
  // A row that keys moved to may not be loaded yet; it is selected when it is.
  const focused = useSignal(-1);
  useSignalEffect(() => {
    void model.arrivals.value;
    const row = focused.value < 0 ? null : model.row(focused.value);
    if (row) {
      focused.value = -1;
      selectRow(row);
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
  const failure = model.failure.value;
  return (
    <section class="table-view functions" aria-label="Functions">
      <EmptyView words={failure === null ? noSamples() : { text: failure, event: null }} />
      <div
        class="rows"
        role="grid"
        tabIndex={0}
        ref={list.scroller}
        aria-label="Functions"
        aria-rowcount={list.size.count + 1}
        aria-activedescendant={at >= list.from && at < list.to ? `${prefix}${at}` : undefined}
        onScroll={list.onScroll}
        onKeyDown={onKeyDown}
      >
        <div class="row-head" role="row" aria-rowindex={1}>
          <Header name="self" words="Self" kind="number" />
          <span aria-hidden="true" />
          <Header name="total" words="Total" kind="number" />
          <Header name="name" words="Function" kind="" />
          <Header name="dso" words="DSO" kind="dso" />
        </div>
        <RowsBody rows={list}>
          {indexes.map((index) => {
            const row = model.row(index);
            return <Row key={index} id={`${prefix}${index}`} index={index} row={row} isSelected={index === at} />;
          })}
        </RowsBody>
      </div>
      <Foot lastVisible={list.visibleTo} />
    </section>
  );
}

/** "1,204 functions, 24 shown down to 1.1 % self" */
function Foot({ lastVisible }: { lastVisible: number }): JSX.Element {
  const model = functionsTable;
  const all = model.count.value;
  const last = model.row(lastVisible - 1);
  const { key, descending } = functionsOrder.value;
  const to = last && key === "self" && descending && lastVisible < all
    ? `, ${count(lastVisible)} shown down to ${percent(share(last.columns.self[last.index] as number, model.whole.value))} self`
    : "";
  return <p class="table-foot">{`${count(all)} ${all === 1 ? "function" : "functions"}${to}`}</p>;
}

function Header({ name, words, kind }: { name: FunctionsOrder["key"]; words: string; kind: string }): JSX.Element {
  const { key, descending } = functionsOrder.value;
  const isSorted = key === name;
  return (
    <span role="columnheader" class={kind} aria-sort={isSorted ? (descending ? "descending" : "ascending") : "none"}>
      <button
        type="button"
        class="sort"
        onClick={() => {
          // Numbers begin with the largest, names with the first.
          const first = name === "self" || name === "total";
          functionsOrder.value = { key: name, descending: isSorted ? !descending : first };
        }}
      >
        {words}
        <span class="sort-mark" aria-hidden="true">{isSorted ? (descending ? "▾" : "▴") : ""}</span>
      </button>
    </span>
  );
}

/** Selects a function, and in the other views its heaviest call node. */
function selectRow({ columns, index }: FunctionRow): void {
  selection.value = {
    callNode: idAt(columns.heaviest, index),
    functionId: idAt(columns.functionId, index),
    row: {
      name: columns.names[index] ?? "",
      dso: columns.dsos[index] ?? "",
      self: columns.self[index] as number,
      total: columns.total[index] as number,
      kind: columns.kind[index] as number,
      flags: columns.flags[index] as number,
    },
  };
}

interface RowProps {
  id: string;
  index: number;
  /** null while it is loading. */
  row: FunctionRow | null;
  isSelected: boolean;
}

function Row({ id, index, row, isSelected }: RowProps): JSX.Element {
  if (row === null) {
    return <div class="row loading" role="row" aria-rowindex={index + 2} aria-busy="true" />;
  }
  const { columns, index: at } = row;
  const model = functionsTable;
  const kind = columns.kind[at] as number;
  const flags = columns.flags[at] as number;
  const self = columns.self[at] as number;
  const name = columns.names[at] ?? "";
  return (
    <div
      id={id}
      class={isSelected ? "row selected" : "row"}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      onClick={() => selectRow(row)}
    >
      <span role="gridcell" class="number strong">{percent(share(self, model.whole.value))}</span>
      <ShareBar share={share(self, model.largestSelf.value)} />
      <span role="gridcell" class="number">{percent(share(columns.total[at] as number, model.whole.value))}</span>
      <span role="gridcell" class="name">
        <span class={swatchClass(kind, flags)} />
        <ForcedMark flags={flags} />
        <span class={nameClass(kind, flags)} title={markedName(name, flags)}>{name}</span>
      </span>
      <span role="gridcell" class="dso">{columns.dsos[at]}</span>
    </div>
  );
}
