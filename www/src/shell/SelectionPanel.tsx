// What is known of the selected call node: where its name comes from, its weight, its stack.

import type { JSX } from "preact";
import { STATUS, StatusGlyph, takenFrom } from "../ledger/status.tsx";
import type { CallNodeDetail } from "../session/types.ts";
import { dsos, event, selection } from "../state/app.ts";
import { detail } from "../state/detail.ts";
import { count, percent, shortId, weight } from "../state/format.ts";
import { zoomTo } from "../state/history.ts";
import { ForcedMark, exportedName, isForced } from "../views/forced_name.tsx";
import { Copy } from "./Copy.tsx";

export { detail } from "../state/detail.ts";

export function SelectionPanel(): JSX.Element {
  if (detail.value !== null) {
    return <CallNodePanel node={detail.value} />;
  }
  const row = selection.value?.row;
  if (row !== undefined) {
    return <FunctionPanel row={row} />;
  }
  return <p class="empty-panel">Nothing is selected. Click a frame or a row.</p>;
}

function CallNodePanel({ node }: { node: CallNodeDetail }): JSX.Element {
  return (
    <div class="selection">
      <h2><ForcedMark flags={node.flags} />{node.name}{node.inlined && <em> (inlined)</em>}</h2>
      <Status node={node} />
      <dl class="facts">
        <Fact label="Source">{isForced(node.flags) ? "not shown for forced names" : node.file === null ? "not known" : <span class="breakable">{node.file}{node.line === null ? "" : `:${node.line}`}</span>}</Fact>
        <Fact label="Total"><Amount weightOf={node.totalWeight} samples={node.totalSamples} /></Fact>
        <Fact label="Self"><Amount weightOf={node.selfWeight} samples={node.selfSamples} /></Fact>
      </dl>
      <p class="button-row">
        <button type="button" onClick={() => zoomTo(node.callNode)}>Zoom <kbd>Enter</kbd></button>
        <Copy text={exportedName(node.name, node.flags)} label="Copy name" class="" />
      </p>
      <h3>Stack</h3>
      <ol class="stack">
        {node.path.map((name, index) => (
          <li key={index}><ForcedMark flags={node.pathFlags[index] ?? 0} />{name}</li>
        ))}
      </ol>
    </div>
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

function FunctionPanel({ row }: { row: NonNullable<NonNullable<typeof selection.value>["row"]> }): JSX.Element {
  return (
    <div class="selection">
      <h2><ForcedMark flags={row.flags} />{row.name}</h2>
      <p class="ink-mute">{row.dso}</p>
      <dl class="facts">
        <Fact label="Total"><Amount weightOf={row.total} samples={null} /></Fact>
        <Fact label="Self"><Amount weightOf={row.self} samples={null} /></Fact>
      </dl>
      <p class="button-row"><Copy text={exportedName(row.name, row.flags)} label="Copy name" class="" /></p>
    </div>
  );
}

function Fact({ label, children }: { label: string; children: JSX.Element | string }): JSX.Element {
  return (
    <>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </>
  );
}

function Amount({ weightOf, samples }: { weightOf: number; samples: number | null }): JSX.Element {
  const all = event.value?.weight ?? 0;
  const name = event.value?.name ?? "";
  return (
    <>
      <strong>{percent(all > 0 ? weightOf / all : 0)}</strong>{" "}
      <span>{samples === null ? "" : `${count(samples)} ${samples === 1 ? "sample" : "samples"}, `}{weight(weightOf, name)}</span>
    </>
  );
}
