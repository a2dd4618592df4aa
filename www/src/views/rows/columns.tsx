// How wide the columns of tables are: as the style sheet has them until the user chooses otherwise. Names take what is left,
// so theirs follows from the others.

import { signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useRef } from "preact/hooks";
import { Splitter } from "../../shell/Splitter.tsx";
import { recallNumber, remember } from "../../state/storage.ts";
import { textScale } from "../text_scale.ts";

/** By what the style sheet calls a table: the columns that it has a width for, as the variables of it are called. */
const TABLES = {
  functions: ["self", "total", "dso"],
  data: ["self", "total", "mean", "dso"],
  table: ["total", "self", "dso"],
  compared: ["change", "before", "after", "dso", "certainty"],
  beside: [],
  lines: ["share", "self"],
  instructions: ["share", "self", "line"],
  blocks: ["share", "times", "mispredicted", "cycles"],
  source: [],
  assembly: [],
  "assembly-bytes": [],
  ledger: ["status", "id"],
} as const satisfies Record<string, readonly string[]>;

export type Table = keyof typeof TABLES;
type Column = (typeof TABLES)[Table][number];

/** In 1/16 rem, so that text that grows keeps its room. */
const LEAST = 40;
const MOST = 400;

/**
 * What of a table the user may give to one column at most: names are to keep some of it. Cells of HTML's tables take no share
 * of the table in a sum, but of what is around it.
 */
const MOST_SHARE: Partial<Record<Column, string>> = { dso: "35%", status: "25cqi", id: "45cqi" };
const MOST_OF_NUMBERS = "16%";

const keyOf = (table: Table, column: Column): string => `column.${table}.${column}`;

/** Widths that the user chose; 0 for the style sheet's own. */
const widths = new Map(
  (Object.keys(TABLES) as Table[])
    .flatMap((table) => TABLES[table].map((column) => keyOf(table, column)))
    .map((key) => [key, signal(recallNumber(key, LEAST, MOST, 0))]),
);

/** What tells the style sheet of the widths that were chosen. */
export function chosenWidths(table: Table): Record<string, string> {
  const chosen: Record<string, string> = {};
  for (const column of TABLES[table]) {
    const width = widths.get(keyOf(table, column))?.value ?? 0;
    if (width > 0) {
      chosen[`--${column}-width`] = `min(${width / 16}rem, ${MOST_SHARE[column] ?? MOST_OF_NUMBERS})`;
    }
  }
  return chosen;
}

/** Whether the user chose it: then what is in it may take all of it. */
export function hasChosenWidth(table: Table, column: Column): boolean {
  return (widths.get(keyOf(table, column))?.value ?? 0) > 0;
}

export interface ColumnProps {
  /** What stands above the column. */
  words: string;
  kind?: "number" | "dso" | "certainty";
  /** Whose width can be chosen: not that of names. */
  of?: { table: Table; column: Column };
}

interface Props extends ColumnProps {
  sort?: "ascending" | "descending" | "none";
  /** What the words leave open. */
  title?: string;
  /** On which side of the column names are, that give or take the difference: behind numbers, before all others. */
  names?: "before" | "behind";
  /** Of a table of HTML. */
  as?: "th";
  /** Instead of the words, where there is more to them. */
  children?: ComponentChildren;
}

/** The head of a column, with the line that resizes it: on the side towards the names. */
export function ColumnHead({ words, kind, of, sort, title, as, children, ...others }: Props): JSX.Element {
  const head = useRef<HTMLTableCellElement>(null);
  const { names = kind === "number" ? "behind" : "before" } = others;
  const key = of && keyOf(of.table, of.column);
  const chosen = key && widths.get(key);
  const resize = (px: number): void => {
    if (key && chosen) {
      chosen.value = px === 0 ? 0 : Math.min(MOST, Math.max(LEAST, Math.round(px / textScale())));
      remember(key, String(chosen.value));
    }
  };
  // Another width is measured again.
  if (chosen) {
    void chosen.value;
  }
  const within = (
    <>
      {children ?? words}
      {chosen && (
        <Splitter
          label={`Width of ${words}`}
          edge={names === "behind" ? "right" : "left"}
          size={() => Math.round(head.current?.offsetWidth ?? LEAST)}
          least={LEAST}
          most={MOST}
          onResize={resize}
        />
      )}
    </>
  );
  const classes = ["column-head", kind, of?.column].filter((each) => each !== undefined).join(" ");
  const shared = { ref: head, class: classes, title, "aria-label": words, "aria-sort": sort };
  return as === "th" ? (
    <th scope="col" {...shared}>
      {within}
    </th>
  ) : (
    <span role="columnheader" {...shared}>
      {within}
    </span>
  );
}
