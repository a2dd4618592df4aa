// The functions table: self, total, function, DSO; sorted by the session, selected across all views. Rows may be source
// files, DSOs or threads instead: those are no functions, and are selected here only.

import { signal, useSignal, useSignalEffect } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useId } from "preact/hooks";
import type { FunctionsOrder } from "../session/types.ts";
import { openTransformMenu, openTransformMenuAt } from "../shell/ContextMenu.tsx";
import { functionsGroup, functionsOrder, namesGeneration, phase, query, selection, session } from "../state/app.ts";
import { count, percent } from "../state/format.ts";
import { rowExtra } from "../state/layout.ts";
import type { FunctionGroup } from "../state/url.ts";
import { noSamples } from "./empty.ts";
import { EmptyView } from "./empty_view.tsx";
import { findSelectedFunction } from "./find_function.ts";
import { ForcedMark, markedName } from "./forced_name.tsx";
import type { FunctionRow } from "./rows/functions_model.ts";
import { functionsTable } from "./rows/functions_model.ts";
import { RowsBody, ShareBar, useVirtualRows } from "./rows/virtual_rows.tsx";
import { rowAfterKey } from "./rows/window.ts";
import { idAt, nameClass, share, swatchClass } from "./words.ts";

const ROW_HEIGHT = 24;

interface GroupWords {
  name: string;
  /** Of the last column; empty where it would say the name again. */
  place: string;
  one: string;
  many: string;
}

const WORDS: Record<FunctionGroup, GroupWords> = {
  function: { name: "Function", place: "DSO", one: "function", many: "functions" },
  file: { name: "Source file", place: "DSO", one: "source file", many: "source files" },
  dso: { name: "DSO", place: "", one: "DSO", many: "DSOs" },
  thread: { name: "Thread", place: "Process", one: "thread", many: "threads" },
};

/** The row that is chosen where rows are no functions: what it is known by, as `FunctionRows` says. */
export const chosenRow = signal<{ group: FunctionGroup; id: number; name: string } | null>(null);

export function FunctionsTable(): JSX.Element {
  const model = functionsTable;
  useSignalEffect(() => {
    const asked = session.value;
    const names = namesGeneration.value;
    if (asked !== null && phase.value.kind === "open") {
      model.ask({ session: asked, query: query.value, order: functionsOrder.value, groupBy: functionsGroup.value, names });
    }
  });
  void model.arrivals.value;
  const list = useVirtualRows(model.count.value, ROW_HEIGHT + rowExtra.value);
  useEffect(() => model.want(list.from, list.to), [model, list.from, list.to]);
  const group = functionsGroup.value;
  const words = WORDS[group];
  const chosen = chosenRow.value?.group === group ? chosenRow.value.id : null;
  const selected = group === "function" ? (selection.value?.functionId ?? null) : chosen;
  // A row that keys moved to may not be loaded yet; it is selected when it is.
  const focused = useSignal(-1);
  useSignalEffect(() => {
    void model.arrivals.value;
    const row = focused.value < 0 ? null : model.row(focused.value);
    if (row) {
      focused.value = -1;
      selectRow(row, functionsGroup.peek());
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
        onContextMenu={(event) => {
          event.preventDefault();
          openTransformMenuAt(event.currentTarget.querySelector(".row.selected") ?? event.currentTarget);
        }}
      >
        <div class="row-head" role="row" aria-rowindex={1}>
          <Header name="self" words="Self" kind="number" />
          <span aria-hidden="true" />
          <Header name="total" words="Total" kind="number" />
          <Header name="name" words={words.name} kind="" />
          {words.place === "" ? <span role="columnheader" class="dso" /> : <Header name="dso" words={words.place} kind="dso" />}
        </div>
        <RowsBody rows={list}>
          {indexes.map((index) => {
            const row = model.row(index);
            return <Row key={index} id={`${prefix}${index}`} index={index} row={row} group={group} isSelected={index === at} />;
          })}
        </RowsBody>
      </div>
      <Foot lastVisible={list.visibleTo} words={words} />
    </section>
  );
}

/** "1,204 functions, 24 shown down to 1.1 % self" */
function Foot({ lastVisible, words }: { lastVisible: number; words: GroupWords }): JSX.Element {
  const model = functionsTable;
  const all = model.count.value;
  const last = model.row(lastVisible - 1);
  const { key, descending } = functionsOrder.value;
  const to = last && key === "self" && descending && lastVisible < all
    ? `, ${count(lastVisible)} shown down to ${percent(share(last.columns.self[last.index] as number, model.whole.value))} self`
    : "";
  return <p class="table-foot">{`${count(all)} ${all === 1 ? words.one : words.many}${to}`}</p>;
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

/** Selects a row, and in the other views its heaviest call node. */
function selectRow({ columns, index }: FunctionRow, group: FunctionGroup): void {
  const id = idAt(columns.functionId, index);
  const isFunction = group === "function";
  chosenRow.value = isFunction || id === null ? null : { group, id, name: columns.names[index] ?? "" };
  // Rows know the tree of callees only.
  const isOfTree = query.peek().direction === "callees";
  selection.value = {
    callNode: isOfTree ? idAt(columns.heaviest, index) : null,
    functionId: isFunction ? id : null,
    row: {
      name: columns.names[index] ?? "",
      dso: columns.dsos[index] ?? "",
      self: columns.self[index] as number,
      total: columns.total[index] as number,
      kind: columns.kind[index] as number,
      flags: columns.flags[index] as number,
    },
  };
  if (!isOfTree) {
    findSelectedFunction();
  }
}

interface RowProps {
  id: string;
  index: number;
  /** null while it is loading. */
  row: FunctionRow | null;
  group: FunctionGroup;
  isSelected: boolean;
}

function Row({ id, index, row, group, isSelected }: RowProps): JSX.Element {
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
      onClick={() => selectRow(row, group)}
      onContextMenu={(event) => {
        event.preventDefault();
        event.stopPropagation();
        selectRow(row, group);
        if (group === "function") {
          openTransformMenu({ x: event.clientX, y: event.clientY });
        }
      }}
    >
      <span role="gridcell" class="number strong">{percent(share(self, model.whole.value))}</span>
      <ShareBar share={share(self, model.largestSelf.value)} />
      <span role="gridcell" class="number">{percent(share(columns.total[at] as number, model.whole.value))}</span>
      <span role="gridcell" class="name">
        <span class={swatchClass(kind, flags)} />
        <ForcedMark flags={flags} />
        <span class={nameClass(kind, flags)} title={markedName(name, flags)}>{name}</span>
      </span>
      <span role="gridcell" class="dso">{group === "dso" ? "" : columns.dsos[at]}</span>
    </div>
  );
}
