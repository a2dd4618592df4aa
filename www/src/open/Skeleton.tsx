// Where a profile will be, while a page opens one by itself: a link, its own, or one of `perftab view`. Each part has the
// place and size that it has then, so nothing moves when the profile is there.

import type { JSX } from "preact";
import { Logo } from "../shell/icons.tsx";
import { timelineHeight, timelineShape, TIMELINE } from "../state/layout.ts";
import { narrow, overlaid } from "../state/width.ts";
import { Opening } from "./Opening.tsx";

/** Rows of boxes, by their ends in percent of the graph's width. */
const ROWS: readonly (readonly number[])[] = [[100], [64, 82, 100], [57, 64, 82, 96], [50, 63, 80], [34, 43, 78], [30, 41, 70]];

export function Skeleton({ name }: { name: string | null }): JSX.Element {
  const shape = timelineShape.value;
  const height = shape === "strip" ? TIMELINE.strip : timelineHeight.value;
  return (
    <div class="page skeleton" aria-busy="true">
      <header class="top-bar">
        <span class="brand">
          <Logo /> <span class="brand-name">perftab</span>
        </span>
        {name !== null && (
          <div class="file">
            <h1 class="file-name">{name}</h1>
          </div>
        )}
      </header>
      <div class="context-bar" />
      {shape !== "none" && (
        <div class="timeline-region" style={{ height: `${height}px` }}>
          <span />
        </div>
      )}
      <div class="work">
        <main class="view-side">
          <div class="view-tabs" />
          <div class="view">
            <div class="skeleton-rows" aria-hidden="true">
              {ROWS.map((ends, row) => (
                <div key={row}>
                  {ends.map((end, box) => (
                    <span key={end} style={{ width: `calc(${end - (ends[box - 1] ?? 0)}% - 1px)` }} />
                  ))}
                </div>
              ))}
            </div>
            <Opening name={name ?? ""} />
          </div>
        </main>
        {!overlaid.value && !narrow.value && <div class="dock" />}
      </div>
      <div class="status-bar" />
    </div>
  );
}
