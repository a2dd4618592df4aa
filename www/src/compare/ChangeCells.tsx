// The cells that every row about two profiles has: how much it changed, what each side has, and whether that is more than
// chance.

import type { JSX } from "preact";
import type { ComparisonState } from "../state/url.ts";
import { ColumnHead } from "../views/rows/columns.tsx";
import { amount, difference, NOT_COMPARABLE, PRESENCES, PRESENCE_WORDS, UNKNOWN } from "./words.ts";

/** Columns of functions, and of call nodes. */
interface ChangeColumns {
  before: Float64Array;
  after: Float64Array;
  change: Float64Array;
  certain: Uint8Array;
  dsos: string[];
  withoutNames: Uint8Array;
}

interface Props {
  columns: ChangeColumns;
  at: number;
  /** The change that fills half of a bar. */
  largest: number;
  basis: ComparisonState["basis"];
  unit: string;
  name: JSX.Element;
}

/** The cells above them; `name` is what rows are. */
export function ChangeHeads({ name }: { name: string }): JSX.Element {
  const table = "compared";
  return (
    <>
      <ColumnHead words="Change" kind="number" of={{ table, column: "change" }} />
      <span aria-hidden="true" />
      <ColumnHead words="Before" kind="number" of={{ table, column: "before" }} />
      <ColumnHead words="After" kind="number" of={{ table, column: "after" }} />
      <ColumnHead words={name} />
      <ColumnHead words="DSO" kind="dso" of={{ table, column: "dso" }} />
      <ColumnHead words="Certainty" kind="certainty" of={{ table, column: "certainty" }} />
    </>
  );
}

export function ChangeCells({ columns, at, largest, basis, unit, name }: Props): JSX.Element {
  const change = columns.change[at] as number;
  const isKnown = columns.withoutNames[at] === 0;
  const side = (value: number): JSX.Element => (
    <span role="gridcell" class={value === 0 ? "number ink-mute" : "number"}>
      {amount(value, basis, unit)}
    </span>
  );
  return (
    <>
      <span role="gridcell" class="number strong">
        {isKnown ? difference(change, basis, unit) : UNKNOWN}
      </span>
      <ChangeBar part={largest > 0 ? change / largest : 0} />
      {side(columns.before[at] as number)}
      {side(columns.after[at] as number)}
      {name}
      <span role="gridcell" class="dso">
        {columns.dsos[at]}
      </span>
      <span role="gridcell" class="certainty">
        {!isKnown ? NOT_COMPARABLE : columns.certain[at] === 1 ? "beyond noise" : "within noise"}
      </span>
    </>
  );
}

/** Says behind a name that one side lacks it. */
export function OnlyTag({ presence }: { presence: number }): JSX.Element | null {
  const only = PRESENCES[presence] ?? "both";
  return only === "both" ? null : <span class="only-tag">{PRESENCE_WORDS[only]}</span>;
}

/** A bar from the middle, to the right for more and to the left for less. The number is beside it, so it is silent. */
function ChangeBar({ part }: { part: number }): JSX.Element {
  const width = Math.min(1, Math.abs(part)) * 50;
  return (
    <span class="change-bar" aria-hidden="true">
      <span class={part < 0 ? "less" : "more"} style={{ width: `${width}%`, left: `${part < 0 ? 50 - width : 50}%` }} />
    </span>
  );
}
