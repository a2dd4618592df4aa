// What changed, function by function: largest increase first, unless another order is chosen.

import { useSignalEffect } from "@preact/signals";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { event, namesGeneration, session } from "../state/app.ts";
import { Segmented } from "../shell/Segmented.tsx";
import { NameCell, RowsGrid } from "../views/rows/rows_grid.tsx";
import { idAt } from "../views/words.ts";
import { ChangeCells, ChangeHeads, OnlyTag } from "./ChangeCells.tsx";
import type { ChangeRow } from "./changes_model.ts";
import { ChangesModel } from "./changes_model.ts";
import type { ChangeOrder } from "./state.ts";
import { changeKey, changeOrder, comparedSelection, compareView, request } from "./state.ts";

const ROW_HEIGHT = 24;

const ORDERS: readonly { value: ChangeOrder; label: string }[] = [
  { value: "increase", label: "Largest increase" },
  { value: "decrease", label: "Largest decrease" },
  { value: "either", label: "Largest change" },
  { value: "before", label: "Most before" },
  { value: "after", label: "Most after" },
  { value: "name", label: "Name" },
];

export function Changes(): JSX.Element {
  const model = useMemo(() => new ChangesModel(), []);
  useSignalEffect(() => {
    const names = namesGeneration.value;
    const [present, asked] = [session.value, request.value];
    const [view, key, order] = [compareView.value, changeKey.value, changeOrder.value];
    if (present !== null && asked !== null) {
      model.ask({ session: present, request: asked, view, key, order, names });
    }
  });
  return (
    <section class="table-view changes" aria-label="Changes">
      <Head />
      {model.failure.value !== null && (
        <p class="view-empty" role="status">
          {model.failure.value}
        </p>
      )}
      <RowsGrid
        model={model}
        rowHeight={ROW_HEIGHT}
        label="Changes by function"
        columns="compared"
        head={<ChangeHeads name="Function" />}
        cells={(row) => <Cells row={row} />}
        selection={comparedSelection}
        selected={comparedSelection.value?.functionId ?? null}
        onSelect={selectRow}
      />
    </section>
  );
}

function Head(): JSX.Element {
  return (
    <header class="changes-head">
      <h2>Changes</h2>
      <p class="ink-mute changes-how">functions, matched across builds by name and DSO</p>
      <span class="push-right" />
      <Segmented
        label="What is compared"
        choice={changeKey}
        choices={[
          ["self", "Self"],
          ["total", "Total"],
        ]}
      />
      <label class="choice">
        <select
          aria-label="Order"
          value={changeOrder.value}
          onChange={(changed) => {
            changeOrder.value = ORDERS.find(({ value }) => value === changed.currentTarget.value)?.value ?? "increase";
          }}
        >
          {ORDERS.map(({ value, label }) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      </label>
    </header>
  );
}

function selectRow({ columns, index }: ChangeRow): void {
  comparedSelection.value = { callNode: idAt(columns.heaviest, index), functionId: idAt(columns.functionId, index) };
}

function Cells({ row: { columns, index } }: { row: ChangeRow }): JSX.Element {
  const name = (
    <NameCell name={columns.names[index] ?? ""} kind={columns.kind[index] as number} flags={columns.flags[index] as number}>
      <OnlyTag presence={columns.presence[index] as number} />
    </NameCell>
  );
  const { basis } = compareView.value;
  return (
    <ChangeCells
      columns={columns}
      at={index}
      largest={columns.largest}
      basis={basis}
      unit={event.value?.name ?? ""}
      name={name}
    />
  );
}
