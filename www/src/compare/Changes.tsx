// What changed, function by function: largest increase first, unless another order is chosen.

import { useSignal, useSignalEffect } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useId, useMemo } from "preact/hooks";
import { event, namesGeneration, session } from "../state/app.ts";
import { Segmented } from "../shell/Segmented.tsx";
import { ForcedMark, markedName } from "../views/forced_name.tsx";
import { RowsBody, useVirtualRows } from "../views/rows/virtual_rows.tsx";
import { rowAfterKey } from "../views/rows/window.ts";
import { idAt, nameClass, swatchClass } from "../views/words.ts";
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
  void model.arrivals.value;
  const list = useVirtualRows(model.count.value, ROW_HEIGHT);
  useEffect(() => model.want(list.from, list.to), [model, list.from, list.to]);
  const selected = comparedSelection.value?.functionId ?? null;
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
  const onKeyDown = (pressed: KeyboardEvent): void => {
    const plain = !pressed.ctrlKey && !pressed.metaKey && !pressed.altKey;
    const to = plain ? rowAfterKey(pressed.key, focused.peek() >= 0 ? focused.peek() : at, list.size) : null;
    if (to !== null) {
      pressed.preventDefault();
      focused.value = to;
      list.reveal(to);
    } else if (plain && pressed.key === "Escape" && comparedSelection.peek()) {
      pressed.stopPropagation();
      comparedSelection.value = null;
    }
  };
  const indexes = Array.from({ length: list.to - list.from }, (_, i) => list.from + i);
  return (
    <section class="table-view changes" aria-label="Changes">
      <Head />
      {model.failure.value !== null && <p class="view-empty" role="status">{model.failure.value}</p>}
      <div
        class="rows"
        role="grid"
        tabIndex={0}
        ref={list.scroller}
        aria-label="Changes by function"
        aria-rowcount={list.size.count + 1}
        aria-activedescendant={at >= list.from && at < list.to ? `${prefix}${at}` : undefined}
        onScroll={list.onScroll}
        onKeyDown={onKeyDown}
      >
        <div class="row-head" role="row" aria-rowindex={1}>
          <span role="columnheader" class="number">Change</span>
          <span aria-hidden="true" />
          <span role="columnheader" class="number">Before</span>
          <span role="columnheader" class="number">After</span>
          <span role="columnheader">Function</span>
          <span role="columnheader" class="dso">DSO</span>
          <span role="columnheader" class="certainty">Certainty</span>
        </div>
        <RowsBody rows={list}>
          {indexes.map((index) => (
            <Row key={index} id={`${prefix}${index}`} index={index} row={model.row(index)} isSelected={index === at} model={model} />
          ))}
        </RowsBody>
      </div>
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

interface RowProps {
  id: string;
  index: number;
  /** null while it is loading. */
  row: ChangeRow | null;
  isSelected: boolean;
  model: ChangesModel;
}

function Row({ id, index, row, isSelected, model }: RowProps): JSX.Element {
  if (row === null) {
    return <div class="row loading" role="row" aria-rowindex={index + 2} aria-busy="true" />;
  }
  const { columns, index: at } = row;
  const { basis } = compareView.value;
  const unit = event.value?.name ?? "";
  const [kind, flags] = [columns.kind[at] as number, columns.flags[at] as number];
  const change = columns.change[at] as number;
  const presence = PRESENCES[columns.presence[at] as number] ?? "both";
  const name = columns.names[at] ?? "";
  const side = (value: number): JSX.Element => (
    <span role="gridcell" class={value === 0 ? "number ink-mute" : "number"}>{amount(value, basis, unit)}</span>
  );
  return (
    <div
      id={id}
      class={isSelected ? "row selected" : "row"}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      onClick={() => selectRow(row)}
    >
      <span role="gridcell" class="number strong">{difference(change, basis, unit)}</span>
      <ChangeBar part={model.largest.value > 0 ? change / model.largest.value : 0} />
      {side(columns.before[at] as number)}
      {side(columns.after[at] as number)}
      <span role="gridcell" class="name">
        <span class={swatchClass(kind, flags)} />
        <ForcedMark flags={flags} />
        <span class={nameClass(kind, flags)} title={markedName(name, flags)}>{name}</span>
        {presence !== "both" && <span class="only-tag">{PRESENCE_WORDS[presence]}</span>}
      </span>
      <span role="gridcell" class="dso">{columns.dsos[at]}</span>
      <span role="gridcell" class="certainty">{columns.certain[at] === 1 ? "beyond noise" : "within noise"}</span>
    </div>
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

