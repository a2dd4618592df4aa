// A function between what calls it and what it calls, and below them the paths that lead to it.

import { useComputed } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { applyTransform } from "../../shell/transforms.ts";
import type { CallTreeRows, FunctionRef } from "../../session/types.ts";
import { linesOf, query, selection } from "../../state/app.ts";
import { percent } from "../../state/format.ts";
import { labelOfFunction } from "../../state/function_words.ts";
import { GraphPane } from "../flame/graph_pane.tsx";
import { FlameModel } from "../flame/model.ts";
import { useTreeMirror } from "../flame/tree_mirror.ts";
import { showFunction } from "../find_function.ts";
import { drawAs, RECURSION, recursion } from "../options.ts";
import { Band } from "../function_band.tsx";
import { markedName } from "../forced_name.tsx";
import { functionsTable } from "../rows/functions_model.ts";
import { TreeModel } from "../rows/tree_model.ts";
import { TreeTable } from "../rows/tree_table.tsx";
import { Choice } from "../view_options.tsx";
import { idAt, share } from "../words.ts";
import type { Side } from "./centre.ts";
import { centre, facts, followCentre, isWithoutSamples } from "./centre.ts";
import { Inlined } from "./inlined.tsx";
import { BlocksPane } from "./lines/blocks_pane.tsx";
import { hasBranches } from "./lines/blocks_state.ts";
import { basisWords, LinesPane, useLines } from "./lines/lines_pane.tsx";
import { setLines } from "./lines/state.ts";
import { sideHost } from "./side_host.ts";

export function Sandwich(): JSX.Element {
  useEffect(followCentre, []);
  useLines();
  const known = facts.value;
  if (centre.value === null) {
    return <EmptyMessage words="Select a function to see what calls it and what it calls." />;
  }
  if (known === null) {
    return isWithoutSamples.value && hasBranches.value ? (
      <OfBranchesAlone of={centre.value} />
    ) : (
      <EmptyMessage words={NO_SAMPLES} />
    );
  }
  const { totalWeight, parts } = known;
  const name = markedName(known.name, known.flags);
  if (linesOf.value !== null) {
    return (
      <section class="sandwich" aria-label={`Lines of ${name}`}>
        <header class="part-head">
          <h3>Lines</h3>
          <p>{basisWords()}</p>
          <Draw />
        </header>
        <Band known={known} whole={functionsTable.whole.value}>
          <Steps />
        </Band>
        <LinesPane known={known} name={name} />
        <BlocksPane name={name} />
      </section>
    );
  }
  return (
    <section class="sandwich" aria-label={`Callers and callees of ${name}`}>
      <header class="part-head">
        <h3>Callers</h3>
        <p>of {name}, heaviest first</p>
        <Choice label="Recursion" choice={recursion} choices={RECURSION} />
        <Draw />
      </header>
      <SidePane side="callers" name={name} total={totalWeight} />
      <Band known={known} whole={functionsTable.whole.value}>
        <Steps />
      </Band>
      <header class="part-head">
        <h3>Callees</h3>
        <p>
          of {name}; {percent(share(known.ownCodeWeight, totalWeight))} is its own code
          {parts.length > 1 && `, ${percent(share(known.selfWeight, totalWeight))} without what is inlined`}
        </p>
      </header>
      {known.selfWeight === totalWeight ? null : <SidePane side="callees" name={name} total={totalWeight} />}
      {parts.length < 2 ? null : <Inlined name={name} parts={parts} />}
      <Paths />
    </section>
  );
}

/** What of the function is shown: its callers and callees in one of two ways, or its lines. */
function Draw(): JSX.Element {
  return (
    <Choice
      label="Show as"
      choices={[
        ["flame", "flame"],
        ["tree", "tree"],
        ["lines", "lines"],
      ]}
      value={linesOf.value === null ? drawAs.value : "lines"}
      onChoose={(chosen) => {
        if (chosen === "lines") {
          setLines(centre.peek());
        } else {
          drawAs.value = chosen;
          setLines(null);
        }
      }}
    />
  );
}

function EmptyMessage({ words, children }: { words: string; children?: ComponentChildren }): JSX.Element {
  return (
    <section class="sandwich sandwich-empty" aria-label="Callers and callees">
      <p class="view-empty" role="status">
        {words}
        {children}
      </p>
    </section>
  );
}

const NO_SAMPLES = "No samples of the selected function are shown.";

/** Branches may lead to a function in which no sample was taken. */
function OfBranchesAlone({ of }: { of: FunctionRef }): JSX.Element {
  if (linesOf.value === null) {
    return (
      <EmptyMessage words={`${NO_SAMPLES} Branches may lead to it.`}>
        <button type="button" onClick={() => setLines(of)}>
          Show basic blocks
        </button>
      </EmptyMessage>
    );
  }
  const name = labelOfFunction(of);
  return (
    <section class="sandwich" aria-label={`Lines of ${name}`}>
      <header class="part-head">
        <h3>Lines</h3>
        <p>of {name}: none, as no samples of it are shown</p>
        <Draw />
      </header>
      <BlocksPane name={name} />
    </section>
  );
}

interface SidePaneProps {
  side: Side;
  name: string;
  total: number;
}

function SidePane(props: SidePaneProps): JSX.Element {
  return drawAs.value === "flame" ? <SideGraph {...props} /> : <SideTree {...props} />;
}

function labelOf({ side, name }: SidePaneProps): string {
  return side === "callers" ? `Callers of ${name}` : `Callees of ${name}`;
}

function SideGraph(props: SidePaneProps): JSX.Element {
  const { side, name, total } = props;
  const model = useMemo(() => new FlameModel(sideHost(side)), [side]);
  const area = useRef<HTMLDivElement>(null);
  const items = useTreeMirror(model);
  const bases = { all: total, allName: `the total of ${name}`, root: total, rootName: null };
  return (
    <div class={`side-pane side-${side}`} ref={area}>
      <GraphPane model={model} area={area} label={labelOf(props)} items={items} bases={bases} />
    </div>
  );
}

function SideTree(props: SidePaneProps): JSX.Element {
  const { side } = props;
  const host = useMemo(() => sideHost(side), [side]);
  const model = useMemo(() => new TreeModel<CallTreeRows>(host.selection), [host]);
  return (
    <div class={`side-pane side-${side}`}>
      <TreeTable
        model={model}
        query={host.query}
        selection={host.selection}
        label={labelOf(props)}
        shape="beside"
        onEnter={({ columns, index }) => showFunction(idAt(columns.functionId, index))}
      />
    </div>
  );
}

/** What can be done to the function. */
function Steps(): JSX.Element {
  return (
    <>
      <button type="button" onClick={() => void applyTransform("focus")}>
        Focus <kbd>f</kbd>
      </button>
      <button type="button" onClick={() => void applyTransform("merge")}>
        Merge <kbd>m</kbd>
      </button>
    </>
  );
}

/** The call tree, open where the function is reached. */
function Paths(): JSX.Element {
  const model = useMemo(() => new TreeModel<CallTreeRows>(selection), []);
  const callees = useComputed(() => (query.value.direction === "callees" ? query.value : null));
  return (
    <>
      <header class="part-head">
        <h3>Call tree</h3>
        <p>{callees.value === null ? "not available while the tree is inverted" : "paths that end here"}</p>
      </header>
      {callees.value === null ? null : (
        <TreeTable model={model} query={callees} selection={selection} label="Paths that end here" shape="beside" />
      )}
    </>
  );
}
