// The coverage bar and its legend.

import type { JSX } from "preact";
import type { CoveragePart } from "./coverage.ts";

const LOOK: Record<CoveragePart["status"], { word: string; tone: string }> = {
  named: { word: "named", tone: "ok" },
  forced: { word: "forced", tone: "guru" },
  mismatched: { word: "mismatched", tone: "bad" },
  missing: { word: "missing", tone: "warn" },
  "no-symbol": { word: "no symbol", tone: "quiet" },
  "no-identity": { word: "no identity", tone: "mute" },
};

export function CoverageBar({ parts, kind }: { parts: readonly CoveragePart[]; kind: string }): JSX.Element {
  return (
    <span class={`coverage ${kind}`} role="img" aria-label={describeCoverage(parts)}>
      {parts.map((part) => (
        <span key={part.status} class={`coverage-part fill-${LOOK[part.status].tone}`} style={{ flexGrow: part.share * 1000 }} />
      ))}
    </span>
  );
}

export function CoverageLegend({ parts }: { parts: readonly CoveragePart[] }): JSX.Element {
  return (
    <ul class="legend">
      {parts.map((part) => (
        <li key={part.status} class={`ink-${LOOK[part.status].tone}`}>
          <span class={`legend-mark fill-${LOOK[part.status].tone}`} aria-hidden="true" />
          {LOOK[part.status].word} {part.percent.toFixed(1)}
        </li>
      ))}
    </ul>
  );
}

/** Filters may leave nothing to have a name. */
function describeCoverage(parts: readonly CoveragePart[]): string {
  return parts.length === 0
    ? "no samples"
    : parts.map((part) => `${LOOK[part.status].word} ${part.percent.toFixed(1)} percent`).join(", ");
}
