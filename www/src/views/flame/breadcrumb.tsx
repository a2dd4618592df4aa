// The row above the graph: where the zoom is, and what the colours mean.

import type { JSX } from "preact";
import { forcedRows } from "../../state/app.ts";
import { zoomTo } from "../../state/history.ts";
import { ForcedMark, markedName } from "../forced_name.tsx";
import type { Laid } from "./stage.ts";
import { ancestors } from "./model.ts";
import { foldPath } from "./fold_path.ts";

/** Crumbs shown before the middle is left out. */
const MOST_CRUMBS = 6;

export function Breadcrumb({ laid }: { laid: Laid | null }): JSX.Element {
  return (
    <div class="breadcrumb-row">
      <nav class="breadcrumb" aria-label="Zoom">
        <Crumbs laid={laid} />
      </nav>
      <Legend />
    </div>
  );
}

function Crumbs({ laid }: { laid: Laid | null }): JSX.Element {
  const above = ancestors(laid);
  const here = rootStep(laid);
  if (above.length === 0) {
    return (
      <>
        <strong>{here.name}</strong>
        <Separator />
        <span class="crumb-hint with-mouse">double-click a frame, or Enter, to zoom</span>
        <span class="crumb-hint with-touch">tap a frame twice to zoom</span>
      </>
    );
  }
  return (
    <>
      {foldPath(above, MOST_CRUMBS).map((crumb) => (
        <>
          <button
            type="button"
            class="crumb"
            key={crumb.item.callNode}
            title={`${crumb.hidden > 0 ? `${crumb.hidden} frames, up to ` : ""}${markedName(crumb.item.name, crumb.item.flags)}`}
            onClick={() => zoomTo(crumb.item.callNode)}
          >
            {crumb.hidden > 0 ? "…" : <><ForcedMark flags={crumb.item.flags} />{crumb.item.name}</>}
          </button>
          <Separator />
        </>
      ))}
      <strong aria-current="location"><ForcedMark flags={here.flags} />{here.name}</strong>
    </>
  );
}

function Separator(): JSX.Element {
  return <span class="crumb-separator" aria-hidden="true">›</span>;
}

/** What fills the width. */
function rootStep(laid: Laid | null): { name: string; flags: number } {
  const label = laid?.graph.label[0];
  const name = (label === undefined ? undefined : laid?.graph.labels[label]) ?? "all";
  return laid?.graph.path.find((each) => each.callNode === laid.root) ?? { name, flags: 0 };
}

/** Its name, with its mark. */
export function rootName(laid: Laid | null): string {
  const { name, flags } = rootStep(laid);
  return markedName(name, flags);
}

const KINDS = [
  ["own", "own code"],
  ["system", "system library"],
  ["kernel", "kernel"],
  ["jit", "JIT"],
  ["unnamed", "no name"],
] as const;

export function Legend(): JSX.Element {
  const forced = forcedRows.value.length > 0;
  return (
    <ul class="frame-legend" aria-label="Colours">
      {KINDS.map(([kind, words]) => (
        <li key={kind}>
          <span class={`swatch swatch-${kind}`} />
          {words}
        </li>
      ))}
      {forced && <li><span class="swatch swatch-forced" />forced</li>}
    </ul>
  );
}
