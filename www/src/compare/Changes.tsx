// What changed, function by function: largest increase first, unless another order is chosen.

import { useSignalEffect } from "@preact/signals";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { event, namesGeneration, session } from "../state/app.ts";
import { Segmented } from "../shell/Segmented.tsx";
import { NameCell, RowsGrid } from "../views/rows/rows_grid.tsx";
import { idAt } from "../views/words.ts";
import type { ChangeRow } from "./changes_model.ts";
import { ChangesModel } from "./changes_model.ts";
import type { ChangeOrder } from "./state.ts";
import { changeKey, changeOrder, comparedSelection, compareView, request } from "./state.ts";
import { amount, difference, PRESENCES, PRESENCE_WORDS } from "./words.ts";

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
      {model.failure.value !== null && <p class="view-empty" role="status">{model.failure.value}</p>}
      <RowsGrid
        model={model}
        rowHeight={ROW_HEIGHT}
        label="Changes by function"
        head={(
          <>
            <span role="columnheader" class="number">Change</span>
            <span aria-hidden="true" />
            <span role="columnheader" class="number">Before</span>
            <span role="columnheader" class="number">After</span>
            <span role="columnheader">Function</span>
            <span role="columnheader" class="dso">DSO</span>
            <span role="columnheader" class="certainty">Certainty</span>
          </>
        )}
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
      <Segmented label="What is compared" value={changeKey} choices={[{ value: "self", label: "Self" }, { value: "total", label: "Total" }]} />
      <label class="choice">
        <select
          aria-label="Order"
          value={changeOrder.value}
          onChange={(changed) => {
            changeOrder.value = ORDERS.find(({ value }) => value === changed.currentTarget.value)?.value ?? "increase";
          }}
        >
          {ORDERS.map(({ value, label }) => <option key={value} value={value}>{label}</option>)}
        </select>
      </label>
    </header>
  );
}

function selectRow({ columns, index }: ChangeRow): void {
  comparedSelection.value = { callNode: idAt(columns.heaviest, index), functionId: idAt(columns.functionId, index) };
}

function Cells({ row: { columns, index: at } }: { row: ChangeRow }): JSX.Element {
  const { basis } = compareView.value;
  const unit = event.value?.name ?? "";
  const change = columns.change[at] as number;
  const presence = PRESENCES[columns.presence[at] as number] ?? "both";
  const side = (value: number): JSX.Element => (
    <span role="gridcell" class={value === 0 ? "number ink-mute" : "number"}>{amount(value, basis, unit)}</span>
  );
  return (
    <>
      <span role="gridcell" class="number strong">{difference(change, basis, unit)}</span>
      <ChangeBar part={columns.largest > 0 ? change / columns.largest : 0} />
      {side(columns.before[at] as number)}
      {side(columns.after[at] as number)}
      <NameCell name={columns.names[at] ?? ""} kind={columns.kind[at] as number} flags={columns.flags[at] as number}>
        {presence !== "both" && <span class="only-tag">{PRESENCE_WORDS[presence]}</span>}
      </NameCell>
      <span role="gridcell" class="dso">{columns.dsos[at]}</span>
      <span role="gridcell" class="certainty">{columns.certain[at] === 1 ? "beyond noise" : "within noise"}</span>
    </>
  );
}

/** A bar from the middle, to the right for more and to the left for less. The number is beside it, so it is silent. */
function ChangeBar({ part }: { part: number }): JSX.Element {
  const width = Math.min(1, Math.abs(part)) * 50;
  return (
    <span class="change-bar" aria-hidden="true">
      <span
        class={part < 0 ? "less" : "more"}
        style={{ width: `${width}%`, left: `${part < 0 ? 50 - width : 50}%` }}
      />
    </span>
  );
}

