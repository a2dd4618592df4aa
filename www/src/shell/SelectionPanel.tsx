// What is known of the selected call node: where its name comes from, its weight, its stack.

import type { JSX } from "preact";
import { STATUS, StatusGlyph, takenFrom } from "../ledger/status.tsx";
import type { CallNodeDetail } from "../session/types.ts";
import { comparison, dsos, event, selection } from "../state/app.ts";
import { keyOf, withKey } from "../state/commands.ts";
import { detail, selectedRow } from "../state/detail.ts";
import { countSamples, percent, shortId, weight } from "../state/format.ts";
import { zoomTo } from "../state/history.ts";
import { shown } from "../state/shown.ts";
import { ForcedMark, exportedName, isForced } from "../views/forced_name.tsx";
import { enterCall } from "../views/query_steps.ts";
import { showLines } from "../views/sandwich/lines/state.ts";
import { nameClass, share, swatchClass } from "../views/words.ts";
import { showView } from "./ViewTabs.tsx";
import { SelectionCode } from "./SelectionCode.tsx";
import { openTransformMenuAt } from "./ContextMenu.tsx";
import { Copy } from "./Copy.tsx";
import { Fact } from "./Fact.tsx";
import { Icon } from "./icons.tsx";
import { EACH_PROCESS } from "./menu_items.ts";
import { Threads, useOccurrence, When } from "./Occurrence.tsx";
import type { TransformKind } from "./transforms.ts";
import { applyTransform, TRANSFORMS } from "./transforms.ts";

export { detail } from "../state/detail.ts";

export function SelectionPanel(): JSX.Element {
  // Beside a row stands what the row says.
  const row = selectedRow.value ?? (detail.value === null ? selection.value?.row : undefined);
  if (row !== undefined) {
    return <FunctionPanel row={row} heaviest={detail.value} />;
  }
  if (detail.value !== null) {
    return <CallNodePanel node={detail.value} />;
  }
  return <p class="empty-panel">Nothing is selected. Click a frame or a row.</p>;
}

/** Levels of a stack stand further right by this, but the deepest ones as far as each other. */
const INDENT = 8;
const DEEPEST_INDENT = 16;

function CallNodePanel({ node }: { node: CallNodeDetail }): JSX.Element {
  const occurrence = useOccurrence({ kind: "call-node", id: node.callNode });
  return (
    <div class="selection">
      <h2 title={node.name}>
        <ForcedMark flags={node.flags} />
        {node.name}
        {node.inlined && <em> (inlined)</em>}
      </h2>
      <Status node={node} />
      <dl class="facts">
        <Place node={node} />
        <Fact label="Total">
          <Amount weightOf={node.totalWeight} samples={node.totalSamples} />
        </Fact>
        <Fact label="Self">
          <Amount weightOf={node.selfWeight} samples={node.selfSamples} />
        </Fact>
        <Threads of={occurrence} />
      </dl>
      <Actions callNode={node.callNode} name={exportedName(node.name, node.flags)} isFunction={node.functionId !== null} />
      <SelectionCode inlined={node.inlined ? node.name : null} />
      <When occurrence={occurrence} />
      <h3>Stack</h3>
      <Stack node={node} />
    </div>
  );
}

/** Where its code is. */
function Place({ node }: { node: CallNodeDetail }): JSX.Element {
  return (
    <>
      {node.address !== null && (
        <Fact label="Address">
          <code
            class="breakable"
            title="One of the sampled addresses in this call node"
          >{`${node.dso ?? ""}+${node.address}`}</code>
        </Fact>
      )}
      <Fact label="Source">
        {isForced(node.flags) ? (
          "not shown for forced names"
        ) : node.file === null ? (
          "unknown"
        ) : (
          <span class="breakable">
            {node.file}
            {node.line === null ? "" : `:${node.line}`}
          </span>
        )}
      </Fact>
    </>
  );
}

function Stack({ node }: { node: CallNodeDetail }): JSX.Element {
  return (
    <ol class="stack">
      {node.path.map((name, index) => (
        <li key={index} style={{ paddingLeft: `${Math.min(index, DEEPEST_INDENT) * INDENT}px` }}>
          <span class={swatchClass(node.pathKinds[index] ?? 0, node.pathFlags[index] ?? 0)} />
          <ForcedMark flags={node.pathFlags[index] ?? 0} />
          <span class={nameClass(node.pathKinds[index] ?? 0, node.pathFlags[index] ?? 0)}>{name}</span>
        </li>
      ))}
    </ol>
  );
}

function Status({ node: { dso, dsoId, dsoStatus, buildId } }: { node: CallNodeDetail }): JSX.Element | null {
  if (dsoStatus === null) {
    return null;
  }
  const row = dsoStatus === "forced" ? dsos.value.find(({ id }) => id === dsoId) : undefined;
  return (
    <p class={`selection-status ink-${STATUS[dsoStatus].tone}`}>
      <StatusGlyph status={dsoStatus} /> {STATUS[dsoStatus].word}: {row === undefined ? dso : `${dso}, ${takenFrom(row)}`}
      {row === undefined && buildId !== null && <code title={buildId}> {shortId(buildId)}</code>}
    </p>
  );
}

interface FunctionPanelProps {
  row: NonNullable<NonNullable<typeof selection.value>["row"]>;
  /** Of its calls the one with most samples. */
  heaviest: CallNodeDetail | null;
}

/** All calls of a function together, or what else a row is; then its heaviest call. */
function FunctionPanel({ row, heaviest }: FunctionPanelProps): JSX.Element {
  const id = selection.value?.functionId ?? null;
  const occurrence = useOccurrence(id === null ? null : { kind: "function", id });
  return (
    <div class="selection">
      <h2 title={row.name}>
        <ForcedMark flags={row.flags} />
        {row.name}
      </h2>
      {id !== null && heaviest !== null ? <Status node={heaviest} /> : <p class="ink-mute">{row.dso}</p>}
      <dl class="facts">
        {id !== null && heaviest !== null && <Place node={heaviest} />}
        <Fact label="Total">
          <Amount weightOf={row.total} samples={null} />
        </Fact>
        <Fact label="Self">
          <Amount weightOf={row.self} samples={null} />
        </Fact>
        <Threads of={occurrence} />
      </dl>
      <Actions callNode={heaviest?.callNode ?? null} name={exportedName(row.name, row.flags)} isFunction={id !== null} />
      <SelectionCode inlined={heaviest?.inlined === true ? row.name : null} />
      <When occurrence={occurrence} />
      {heaviest !== null && (
        <>
          <h3>Heaviest call</h3>
          <dl class="facts">
            <Fact label="Total">
              <Amount weightOf={heaviest.totalWeight} samples={heaviest.totalSamples} />
            </Fact>
            <Fact label="Self">
              <Amount weightOf={heaviest.selfWeight} samples={heaviest.selfSamples} />
            </Fact>
          </dl>
          <Stack node={heaviest} />
        </>
      )}
    </div>
  );
}

/** The buttons alone, for where there is no room for the rest. */
export function SelectionActions(): JSX.Element | null {
  const node = detail.value;
  const row = selection.value?.row;
  if (node !== null) {
    return <Actions callNode={node.callNode} name={exportedName(node.name, node.flags)} isFunction={node.functionId !== null} />;
  }
  return row === undefined ? null : (
    <Actions callNode={null} name={exportedName(row.name, row.flags)} isFunction={selection.value?.functionId !== null} />
  );
}

/** What can be done to it, in the order that fills two rows; all of it is in the menu. */
const AT_HAND: readonly TransformKind[] = ["focus", "drop", "merge"];

interface ActionsProps {
  /** null for a function as such, whose calls are many. */
  callNode: number | null;
  name: string;
  isFunction: boolean;
}

function Actions({ callNode, name, isFunction }: ActionsProps): JSX.Element {
  return (
    <p class="button-row">
      {callNode !== null &&
        (detail.value?.callNode === callNode && detail.value.processes.length > 0 ? (
          <button type="button" onClick={() => void enterCall(callNode)}>
            {EACH_PROCESS}
          </button>
        ) : (
          <button type="button" title="Zoom the flame graph to this call node" onClick={() => zoomTo(callNode)}>
            Zoom
          </button>
        ))}
      {isFunction &&
        AT_HAND.flatMap((each) => TRANSFORMS.filter(({ kind }) => kind === each)).map(({ kind, short, label }) => (
          <button key={kind} type="button" title={withKey(label, kind)} onClick={() => void applyTransform(kind)}>
            {short} <kbd>{keyOf(kind)}</kbd>
          </button>
        ))}
      {isFunction && comparison.value === null && (
        <>
          <button type="button" title="Samples by source line and instruction" onClick={() => void showLines()}>
            Lines
          </button>
          <button type="button" title={withKey("Source beside assembly", "view-source")} onClick={() => showView("source")}>
            Source
          </button>
        </>
      )}
      <Copy text={name} label="Copy name" class="copy-name" />
      <button
        type="button"
        class="quiet"
        aria-haspopup="menu"
        aria-label="More actions"
        title="More actions"
        onClick={(event) => openTransformMenuAt(event.currentTarget)}
      >
        <Icon name="more" />
      </button>
    </p>
  );
}

/** Its share of what is shown, and of the whole event where that is more. */
function Amount({ weightOf, samples }: { weightOf: number; samples: number | null }): JSX.Element {
  const whole = event.value?.weight ?? 0;
  const left = shown.value?.answer.weight ?? whole;
  const words = [
    left === whole ? "" : "of what is shown",
    samples === null ? "" : countSamples(samples),
    weight(weightOf, event.value?.name ?? ""),
  ];
  return (
    <>
      <strong>{percent(share(weightOf, left))}</strong> <span>{words.filter((each) => each !== "").join(", ")}</span>
      {left !== whole && <span class="amount-whole">{percent(share(weightOf, whole))} of the whole profile</span>}
    </>
  );
}
