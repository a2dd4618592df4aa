// Memory accesses by what they were of, in the place of the functions table: cost, accesses, what one cost, and the object.
// Rows are no functions, and are selected here only.

import { computed, signal, useSignalEffect } from "@preact/signals";
import type { JSX } from "preact";
import { showDataFiles } from "../ledger/admit.ts";
import type { Session } from "../session/client.ts";
import type { AccessRows, FunctionsOrder, Query } from "../session/types.ts";
import { dsos, functionsOrder, namesGeneration, phase, query, selection, session } from "../state/app.ts";
import { count, percent } from "../state/format.ts";
import type { DataGroup } from "../state/url.ts";
import type { EmptyWords } from "./empty.ts";
import { noSamples } from "./empty.ts";
import { EmptyView } from "./empty_view.tsx";
import { chosenRow, Header, ROW_HEIGHT } from "./functions_table.tsx";
import { sessionsOrder } from "./rows/functions_model.ts";
import type { LoadedRow } from "./rows/loaded_rows.ts";
import { LoadedRows } from "./rows/loaded_rows.ts";
import { NameCell, RowsGrid } from "./rows/rows_grid.tsx";
import { ShareBar } from "./rows/virtual_rows.tsx";
import { idAt, share } from "./words.ts";

interface Question {
  session: Session;
  query: Query;
  order: FunctionsOrder;
  groupBy: DataGroup;
}

const DATA_WORDS: Record<DataGroup, { name: string; one: string; many: string }> = {
  object: { name: "Object", one: "object", many: "objects" },
  level: { name: "Level", one: "level", many: "levels" },
  snoop: { name: "Snoop", one: "result", many: "results" },
  tlb: { name: "TLB", one: "result", many: "results" },
  locked: { name: "Locked", one: "answer", many: "answers" },
};

const model = new LoadedRows<Question, AccessRows>(({ session: asked, query: of, order, groupBy }, from, to, options) => {
  return asked.call("accesses", { query: of, order: sessionsOrder(order), groupBy, from, to }, options);
});

/** Changes when data has got names. */
const dataNames = signal(0);

/** Changes when a file comes: of a DSO that only data is in, no other name changes then. */
const filesHere = computed(() =>
  dsos.value.flatMap(({ id, image, gives }) => (image === null ? [] : [id, image, gives])).join("\n"),
);

async function nameData(asked: Session): Promise<void> {
  if (await asked.call("nameData", {})) {
    dataNames.value += 1;
  }
  if (session.peek() === asked) {
    await showDataFiles(asked);
  }
}

export function DataTable({ group }: { group: DataGroup }): JSX.Element {
  useSignalEffect(() => {
    void namesGeneration.value;
    void dataNames.value;
    const asked = session.value;
    if (asked !== null && phase.value.kind === "open") {
      model.ask({ session: asked, query: query.value, order: functionsOrder.value, groupBy: group });
    }
  });
  // Files that come later are asked, too. If their worker dies, data keeps its addresses, and the ledger says why.
  useSignalEffect(() => {
    void namesGeneration.value;
    void filesHere.value;
    if (group === "object" && session.value !== null && phase.value.kind === "open") {
      nameData(session.value).catch(() => {});
    }
  });
  const failure = model.failure.value;
  const words = DATA_WORDS[group];
  const table = "data";
  const chosen = chosenRow.value?.group === group ? chosenRow.value.id : null;
  return (
    <section class="table-view functions data" aria-label="Data">
      <EmptyView words={failure === null ? nothing() : { text: failure, event: null }} />
      <RowsGrid
        model={model}
        rowHeight={ROW_HEIGHT}
        label="Data"
        columns={table}
        head={
          <>
            <Header sorts="self" words="Cost" kind="number" of={{ table, column: "self" }} />
            <span aria-hidden="true" />
            <Header sorts="total" words="Accesses" kind="number" of={{ table, column: "total" }} />
            <Header sorts="mean" words="Mean" kind="number" of={{ table, column: "mean" }} />
            <Header sorts="name" words={words.name} />
            {group === "object" ? (
              <Header sorts="dso" words="DSO" kind="dso" of={{ table, column: "dso" }} />
            ) : (
              <span role="columnheader" class="dso" />
            )}
          </>
        }
        cells={(row) => <Cells row={row} />}
        selection={chosenRow}
        selected={chosen}
        onSelect={({ columns, index }) => {
          const id = idAt(columns.functionId, index);
          chosenRow.value = id === null ? null : { group, id, name: columns.names[index] ?? "" };
          selection.value = null;
        }}
        foot={() => <Foot words={words} />}
      />
    </section>
  );
}

/** Not every event of a recording has accesses. */
function nothing(): EmptyWords | null {
  const words = noSamples();
  const isEmpty = model.newest.value?.totalCount === 0;
  return words === null && isEmpty ? { text: "No sample of this event says what data it accessed.", event: null } : words;
}

/** "12 objects, 41,280 accesses" */
function Foot({ words }: { words: (typeof DATA_WORDS)[DataGroup] }): JSX.Element {
  const all = model.count.value;
  const accesses = model.newest.value?.allAccesses ?? 0;
  const rows = `${count(all)} ${all === 1 ? words.one : words.many}`;
  return (
    <p class="table-foot">{all === 0 ? "\u00a0" : `${rows}, ${count(accesses)} ${accesses === 1 ? "access" : "accesses"}`}</p>
  );
}

function Cells({ row: { columns, index: at } }: { row: LoadedRow<AccessRows> }): JSX.Element {
  const cost = columns.cost[at] as number;
  const mean = columns.meanCost[at] as number;
  return (
    <>
      <span role="gridcell" class="number strong">
        {percent(share(cost, columns.allCost))}
      </span>
      <ShareBar share={share(cost, columns.largestCost)} />
      <span role="gridcell" class="number">
        {count(columns.accesses[at] as number)}
      </span>
      <span role="gridcell" class="number">
        {mean === 0 ? "–" : mean < 100 ? mean.toFixed(1) : count(mean)}
      </span>
      <NameCell name={columns.names[at] ?? ""} kind={columns.kind[at] as number} flags={0} />
      <span role="gridcell" class="dso">
        {columns.dsos[at]}
      </span>
    </>
  );
}
