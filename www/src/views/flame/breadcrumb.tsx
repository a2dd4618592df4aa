// The row above the graph: where the zoom is, and what the colours mean.

import type { JSX } from "preact";
import { zoomTo } from "../../state/history.ts";
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
  const here = rootName(laid);
  if (above.length === 0) {
    return (
      <>
        <strong>{here}</strong>
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
            title={crumb.hidden > 0 ? `${crumb.hidden} frames, up to ${crumb.item.name}` : crumb.item.name}
            onClick={() => zoomTo(crumb.item.callNode)}
          >
            {crumb.hidden > 0 ? "…" : crumb.item.name}
          </button>
          <Separator />
        </>
      ))}
      <strong aria-current="location">{here}</strong>
    </>
  );
}

function Separator(): JSX.Element {
  return <span class="crumb-separator" aria-hidden="true">›</span>;
}

/** Name of what fills the width. */
export function rootName(laid: Laid | null): string {
  const named = laid?.graph.path.find((each) => each.callNode === laid.root)?.name;
  if (named !== undefined) {
    return named;
  }
  const label = laid?.graph.label[0];
  return (label === undefined ? undefined : laid?.graph.labels[label]) ?? "all";
}

const KINDS = [
  ["own", "own code"],
  ["system", "system library"],
  ["kernel", "kernel"],
  ["jit", "JIT"],
  ["unnamed", "no name"],
] as const;

export function Legend(): JSX.Element {
  return (
    <ul class="frame-legend" aria-label="Colours">
      {KINDS.map(([kind, words]) => (
        <li key={kind}>
          <span class={`swatch swatch-${kind}`} />
          {words}
        </li>
      ))}
    </ul>
  );
}
