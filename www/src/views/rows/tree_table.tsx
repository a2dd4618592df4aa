// The call tree of one profile as rows. The table of a view has a column for everything; beside the functions there is
// less room, and the numbers stand at the right.

import type { ReadonlySignal, Signal } from "@preact/signals";
import type { JSX } from "preact";
import type { CallTreeRows, Query } from "../../session/types.ts";
import { openTransformMenu, openTransformMenuAt } from "../../shell/ContextMenu.tsx";
import type { Selection } from "../../state/app.ts";
import { namesGeneration, phase, session } from "../../state/app.ts";
import { percent } from "../../state/format.ts";
import { share } from "../words.ts";
import { ColumnHead } from "./columns.tsx";
import { TreeGrid } from "./tree_grid.tsx";
import type { CallTreeModel, TreeSource } from "./tree_model.ts";
import { treeOf } from "./tree_model.ts";
import type { TreeRow } from "./tree_rows.ts";
import { ShareBar } from "./virtual_rows.tsx";

type Shape = "table" | "beside";

const ROW_HEIGHT = { table: 22, beside: 24 } as const;
const NAME_WIDTH = { table: 220, beside: 110 } as const;

interface Props {
  model: CallTreeModel;
  /** Whose tree it is; null while there is none. */
  query: ReadonlySignal<Query | null>;
  selection: Signal<Selection | null>;
  label: string;
  shape: Shape;
  /** What Enter does, where it does not open the row. */
  onEnter?: (row: TreeRow<CallTreeRows>) => void;
}

export function TreeTable({ model, query, selection, label, shape, onEnter }: Props): JSX.Element {
  const whole = model.whole.value;
  const source = (): TreeSource<CallTreeRows> | null => {
    const [asked, of, names] = [session.value, query.value, namesGeneration.value];
    return asked !== null && of !== null && phase.value.kind === "open" ? treeOf(asked, of, names) : null;
  };
  return (
    <TreeGrid
      model={model}
      source={source}
      selection={selection}
      label={label}
      columns={shape}
      rowHeight={ROW_HEIGHT[shape]}
      nameWidth={NAME_WIDTH[shape]}
      head={
        <Cells
          shape={shape}
          total={<ColumnHead words="Total" kind="number" of={{ table: shape, column: "total" }} />}
          bar={<span aria-hidden="true" />}
          self={<ColumnHead words="Self" kind="number" of={{ table: shape, column: "self" }} />}
          name={<ColumnHead words="Call node" />}
          dso={<ColumnHead words="DSO" kind="dso" of={{ table: shape, column: "dso" }} />}
        />
      }
      cells={({ columns, index }, name) => {
        const total = share(columns.total[index] as number, whole);
        return (
          <Cells
            shape={shape}
            total={
              <span role="gridcell" class={shape === "table" ? "number strong" : "number"}>
                {percent(total)}
              </span>
            }
            bar={<ShareBar share={total} />}
            self={
              <span role="gridcell" class="number">
                {percent(share(columns.self[index] as number, whole))}
              </span>
            }
            name={name}
            dso={
              <span role="gridcell" class="dso">
                {columns.dsos[index]}
              </span>
            }
          />
        );
      }}
      behindName={({ columns, index }) => {
        const dso = columns.dsos[index] ?? "";
        return shape === "beside" && dso !== "" ? <span class="name-dso">{dso}</span> : null;
      }}
      onEnter={onEnter}
      onMenu={{ ofRow: openTransformMenu, ofTable: openTransformMenuAt }}
    />
  );
}

interface CellsProps {
  shape: Shape;
  total: JSX.Element;
  bar: JSX.Element;
  self: JSX.Element;
  name: JSX.Element;
  dso: JSX.Element;
}

/** The cells of a row, in the order of its shape. */
function Cells({ shape, total, bar, self, name, dso }: CellsProps): JSX.Element {
  return shape === "table" ? (
    <>
      {total}
      {bar}
      {self}
      {name}
      {dso}
    </>
  ) : (
    <>
      {name}
      {bar}
      {total}
      {self}
    </>
  );
}
