// A function between what calls it and what it calls, and below them the paths that lead to it.

import { useComputed } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { STATUS, StatusGlyph } from "../../ledger/status.tsx";
import { applyTransform } from "../../shell/transforms.ts";
import type { CallTreeRows, FunctionRef, SandwichFacts } from "../../session/types.ts";
import { linesOf, query, selection } from "../../state/app.ts";
import { percent } from "../../state/format.ts";
import { labelOfFunction } from "../../state/function_words.ts";
import { GraphPane } from "../flame/graph_pane.tsx";
import { FlameModel } from "../flame/model.ts";
import { useTreeMirror } from "../flame/tree_mirror.ts";
import { showFunction } from "../find_function.ts";
import { ForcedMark, markedName } from "../forced_name.tsx";
import { drawAs, RECURSION, recursion } from "../options.ts";
import { functionsTable } from "../rows/functions_model.ts";
import { TreeModel } from "../rows/tree_model.ts";
import { TreeTable } from "../rows/tree_table.tsx";
import { Choice } from "../view_options.tsx";
import { idAt, nameClass, share, swatchClass } from "../words.ts";
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
        <Band known={known} />
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
      <Band known={known} />
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

/** Name, status and numbers of the function itself, with what can be done to it. */
function Band({ known }: { known: SandwichFacts }): JSX.Element {
  const whole = functionsTable.whole.value;
  const { file, line } = known;
  const place = file === null ? "" : `${fileName(file)}${line === null ? "" : `:${line}`}`;
  const status = STATUS[known.dsoStatus];
  return (
    <div class="sandwich-band">
      <span class={swatchClass(known.kind, known.flags)} />
      <strong class={nameClass(known.kind, known.flags)} title={markedName(known.name, known.flags)}>
        <ForcedMark flags={known.flags} />
        {known.name}
      </strong>
      <span class={`band-status ink-${status.tone}`} title={`${status.word}: ${known.dso}`}>
        <StatusGlyph status={known.dsoStatus} size={12} />
        <span class="visually-hidden">{status.word}: </span>
        {known.dso}
      </span>
      <span class="band-place" title={known.file ?? undefined}>
        {place}
      </span>
      <span class="band-number">
        Self <b>{percent(share(known.selfWeight, whole))}</b>
      </span>
      <span class="band-number">
        Total <b>{percent(share(known.totalWeight, whole))}</b>
      </span>
      <button type="button" onClick={() => void applyTransform("focus")}>
        Focus <kbd>f</kbd>
      </button>
      <button type="button" onClick={() => void applyTransform("merge")}>
        Merge <kbd>m</kbd>
      </button>
    </div>
  );
}

function fileName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
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
