// Functions, the source of the selected one, and its instructions: from a hot frame to the line and to the instruction.

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Splitter } from "../../shell/Splitter.tsx";
import { selection } from "../../state/app.ts";
import { keyOf } from "../../state/commands.ts";
import { countSamples, percent } from "../../state/format.ts";
import { noSamples } from "../empty.ts";
import { EmptyView } from "../empty_view.tsx";
import { Band } from "../function_band.tsx";
import { KeptWidth } from "../kept_width.ts";
import { ColumnHead } from "../rows/columns.tsx";
import { NameCell, RowsGrid } from "../rows/rows_grid.tsx";
import { idAt, share } from "../words.ts";
import { AssemblyPane } from "./assembly_pane.tsx";
import { followCodeSearch } from "./code_search.ts";
import { SourcePane } from "./source_pane.tsx";
import type { ShownCode } from "./read_code.ts";
import { empty, followCode, hottest, panes, shown, stepHot } from "./state.ts";

const ROW_HEIGHT = 24;

/** Of the functions, where the user chose one: what is usual depends on the room. */
const width = new KeptWidth("sourceFunctionsWidth", { least: 120, usual: 268, most: 800 });

export function SourceView(): JSX.Element {
  useEffect(followCode, []);
  useEffect(followCodeSearch, []);
  const of = shown.value;
  const nothing = noSamples();
  return (
    <section class="source-view" aria-label="Source">
      <EmptyView words={nothing} />
      {of !== null && (
        <Band known={of.facts} whole={hottest.newest.value?.allTotal ?? 0} start={startOf(of)}>
          <span class="band-number">{countSamples(of.listing.whole.samples)}</span>
          <HotLineButton way="previous" sign="↑" />
          <HotLineButton way="next" sign="↓" />
        </Band>
      )}
      <div class={`source-panes panes-${panes.value}`}>
        <Functions />
        {of === null ? (
          <p class="view-empty" role="status">
            {empty.value ?? (nothing === null ? "Reading code…" : "")}
          </p>
        ) : (
          <>
            {panes.value !== "assembly" && <SourcePane of={of} />}
            {panes.value !== "source" && <AssemblyPane of={of} />}
          </>
        )}
      </div>
    </section>
  );
}

/** The address of the code, in its file. */
function startOf({ listing }: ShownCode): string {
  return listing.isWhole && listing.count > 0 ? `0x${listing.address(0)}` : "";
}

function HotLineButton({ way, sign }: { way: "next" | "previous"; sign: string }): JSX.Element {
  const key = keyOf(`${way}-hot-line`);
  return (
    <button type="button" onClick={() => stepHot(way)} aria-label={`${way === "next" ? "Next" : "Previous"} hot line`}>
      {sign} {key === "" ? null : <kbd>{key}</kbd>}
    </button>
  );
}

/** Those in which most samples ended. */
function Functions(): JSX.Element {
  const all = hottest.newest.value?.allTotal ?? 0;
  const chosen = shown.value?.facts.functionId ?? null;
  const side = useRef<HTMLDivElement>(null);
  return (
    <div class="source-functions" ref={side} style={width.value === width.usual ? {} : { flexBasis: `${width.value}px` }}>
      <RowsGrid
        model={hottest}
        rowHeight={ROW_HEIGHT}
        label="Functions by self"
        columns="beside"
        head={
          <>
            <ColumnHead words="Function" />
            <ColumnHead words="Self" kind="number" />
          </>
        }
        cells={({ columns, index }) => (
          <>
            <NameCell
              name={columns.names[index] ?? ""}
              kind={columns.kind[index] as number}
              flags={columns.flags[index] as number}
            />
            <span role="gridcell" class="number" title={columns.dsos[index]}>
              {percent(share(columns.self[index] as number, all))}
            </span>
          </>
        )}
        selection={selection}
        selected={chosen}
        onSelect={({ columns, index }) => {
          // Trees that show what is inlined may have no call node of it.
          selection.value = { callNode: null, functionId: idAt(columns.functionId, index) };
        }}
      />
      <Splitter
        label="Width of the functions"
        edge="right"
        size={() => side.current?.offsetWidth ?? width.usual}
        least={width.least}
        most={width.most}
        onResize={width.onResize}
      />
    </div>
  );
}
