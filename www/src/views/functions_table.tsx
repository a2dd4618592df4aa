// The functions table: self, total, function, DSO; sorted by the session, selected across all views. Rows may be source
// files, DSOs or threads instead: those are no functions, and are selected here only.

import { signal, useSignalEffect } from "@preact/signals";
import type { JSX } from "preact";
import type { FunctionsOrder } from "../session/types.ts";
import { openTransformMenu, openTransformMenuAt } from "../shell/ContextMenu.tsx";
import { functionsOrder, namesGeneration, phase, query, selection, session } from "../state/app.ts";
import { count, counted, percent } from "../state/format.ts";
import type { CodeGroup, FunctionGroup } from "../state/url.ts";
import { noSamples } from "./empty.ts";
import { EmptyView } from "./empty_view.tsx";
import { findSelectedFunction } from "./find_function.ts";
import type { ColumnProps } from "./rows/columns.tsx";
import { ColumnHead } from "./rows/columns.tsx";
import type { FunctionRow } from "./rows/functions_model.ts";
import { functionsTable } from "./rows/functions_model.ts";
import { NameCell, RowsGrid } from "./rows/rows_grid.tsx";
import { ShareBar } from "./rows/virtual_rows.tsx";
import { idAt, share } from "./words.ts";

export const ROW_HEIGHT = 24;

interface GroupWords {
  name: string;
  /** Of the last column; empty where it would say the name again. */
  place: string;
  one: string;
  many: string;
}

const WORDS: Record<CodeGroup, GroupWords> = {
  function: { name: "Function", place: "DSO", one: "function", many: "functions" },
  file: { name: "Source file", place: "DSO", one: "source file", many: "source files" },
  dso: { name: "DSO", place: "", one: "DSO", many: "DSOs" },
  thread: { name: "Thread", place: "Process", one: "thread", many: "threads" },
};

/** The row that is chosen where rows are no functions: what it is known by, as its table's rows say. */
export const chosenRow = signal<{ group: FunctionGroup; id: number; name: string } | null>(null);

export function FunctionsTable({ group }: { group: CodeGroup }): JSX.Element {
  const model = functionsTable;
  useSignalEffect(() => {
    const asked = session.value;
    const names = namesGeneration.value;
    if (asked !== null && phase.value.kind === "open") {
      model.ask({ session: asked, query: query.value, order: functionsOrder.value, groupBy: group, names });
    }
  });
  const words = WORDS[group];
  const table = "functions";
  const chosen = chosenRow.value?.group === group ? chosenRow.value.id : null;
  const failure = model.failure.value;
  return (
    <section class="table-view functions" aria-label="Functions">
      <EmptyView words={failure === null ? noSamples() : { text: failure, event: null }} />
      <RowsGrid
        model={model}
        rowHeight={ROW_HEIGHT}
        label="Functions"
        columns={table}
        head={
          <>
            <Header sorts="self" words="Self" kind="number" of={{ table, column: "self" }} />
            <span aria-hidden="true" />
            <Header sorts="total" words="Total" kind="number" of={{ table, column: "total" }} />
            <Header sorts="name" words={words.name} />
            {words.place === "" ? (
              <span role="columnheader" class="dso" />
            ) : (
              <Header sorts="dso" words={words.place} kind="dso" of={{ table, column: "dso" }} />
            )}
          </>
        }
        cells={(row) => <Cells row={row} group={group} />}
        selection={selection}
        selected={group === "function" ? (selection.value?.functionId ?? null) : chosen}
        onSelect={(row) => selectRow(row, group)}
        // Only functions can be transformed.
        onMenu={{ ofRow: group === "function" ? openTransformMenu : () => {}, ofTable: openTransformMenuAt }}
        foot={(visibleTo) => <Foot lastVisible={visibleTo} words={words} />}
      />
    </section>
  );
}

/** "1,204 functions, 24 shown, down to 1.1 % self" */
function Foot({ lastVisible, words }: { lastVisible: number; words: GroupWords }): JSX.Element {
  const model = functionsTable;
  const all = model.count.value;
  const last = model.row(lastVisible - 1);
  const { key, descending } = functionsOrder.value;
  const to =
    last && key === "self" && descending && lastVisible < all
      ? `, ${count(lastVisible)} shown, down to ${percent(share(last.columns.self[last.index] as number, model.whole.value))} self`
      : "";
  const unnamed = model.unnamed.value;
  const rest = unnamed === 0 ? "" : `, ${count(unnamed)} without a name`;
  // Until the first rows come it says nothing; where there are none, the empty view does.
  return <p class="table-foot">{all === 0 ? "\u00a0" : `${counted(all - unnamed, words.one, words.many)}${rest}${to}`}</p>;
}

/** The head of a column that rows can be sorted by. */
export function Header({ sorts: name, ...column }: { sorts: FunctionsOrder["key"] } & ColumnProps): JSX.Element {
  const { key, descending } = functionsOrder.value;
  const isSorted = key === name;
  return (
    <ColumnHead {...column} sort={isSorted ? (descending ? "descending" : "ascending") : "none"}>
      <button
        type="button"
        class="sort"
        onClick={() => {
          // Numbers begin with the largest, names with the first.
          const first = name === "self" || name === "total" || name === "mean";
          functionsOrder.value = { key: name, descending: isSorted ? !descending : first };
        }}
      >
        {column.words}
        <span class="sort-mark" aria-hidden="true">
          {isSorted ? (descending ? "▾" : "▴") : ""}
        </span>
      </button>
    </ColumnHead>
  );
}

/** Selects a row, and in the other views its heaviest call node. */
function selectRow({ columns, index }: FunctionRow, group: CodeGroup): void {
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

function Cells({ row: { columns, index: at }, group }: { row: FunctionRow; group: CodeGroup }): JSX.Element {
  const model = functionsTable;
  const self = columns.self[at] as number;
  return (
    <>
      <span role="gridcell" class="number strong">
        {percent(share(self, model.whole.value))}
      </span>
      <ShareBar share={share(self, model.largestSelf.value)} />
      <span role="gridcell" class="number">
        {percent(share(columns.total[at] as number, model.whole.value))}
      </span>
      <NameCell name={columns.names[at] ?? ""} kind={columns.kind[at] as number} flags={columns.flags[at] as number} />
      <span role="gridcell" class="dso">
        {group === "dso" ? "" : columns.dsos[at]}
      </span>
    </>
  );
}
