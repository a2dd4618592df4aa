// The row above the graph: where the zoom is, and what the colours mean.

import type { JSX } from "preact";
import { counted } from "../../state/format.ts";
import { ForcedMark, markedName } from "../forced_name.tsx";
import type { LaidOutGraph } from "./stage.ts";
import { ancestors } from "./model.ts";
import { foldPath } from "./fold_path.ts";
import { Legend } from "./legend.tsx";

/** Crumbs shown before the middle is left out. */
const MOST_CRUMBS = 6;

interface Props {
  laid: LaidOutGraph | null;
  onZoom: (callNode: number) => void;
}

export function Breadcrumb({ laid, onZoom }: Props): JSX.Element {
  return (
    <div class="breadcrumb-row">
      <nav class="breadcrumb" aria-label="Zoom">
        <Crumbs laid={laid} onZoom={onZoom} />
      </nav>
      <Legend />
    </div>
  );
}

export function Crumbs({ laid, onZoom }: Props): JSX.Element {
  const above = ancestors(laid);
  const here = rootStep(laid);
  if (above.length === 0) {
    return (
      <>
        <strong>{here.name}</strong>
        <Separator />
        <span class="crumb-hint with-mouse">double-click a frame or press Enter to zoom</span>
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
            title={`${crumb.hidden > 0 ? `${counted(crumb.hidden, "frame", "frames")}, up to ` : ""}${markedName(crumb.item.name, crumb.item.flags)}`}
            onClick={() => onZoom(crumb.item.callNode)}
          >
            {crumb.hidden > 0 ? (
              "…"
            ) : (
              <>
                <ForcedMark flags={crumb.item.flags} />
                {crumb.item.name}
              </>
            )}
          </button>
          <Separator />
        </>
      ))}
      <strong aria-current="location">
        <ForcedMark flags={here.flags} />
        {here.name}
      </strong>
    </>
  );
}

function Separator(): JSX.Element {
  return (
    <span class="crumb-separator" aria-hidden="true">
      ›
    </span>
  );
}

/** What fills the width. */
function rootStep(laid: LaidOutGraph | null): { name: string; flags: number } {
  const label = laid?.graph.label[0];
  const name = (label === undefined ? undefined : laid?.graph.labels[label]) ?? "all";
  return laid?.graph.path.find((each) => each.callNode === laid.root) ?? { name, flags: 0 };
}

/** Its name, with its mark. */
export function rootName(laid: LaidOutGraph | null): string {
  const { name, flags } = rootStep(laid);
  return markedName(name, flags);
}
