// As long as names are forced nobody looks at the profile without being told, whoever forced them.

import type { JSX } from "preact";
import type { DsoRow } from "../session/types.ts";
import { forcedRows } from "../state/app.ts";
import { percent } from "../state/format.ts";
import { Icon } from "../shell/icons.tsx";
import { stopForcing, stoppable } from "./forced.ts";

export function UnsafeBanner(): JSX.Element | null {
  const rows = forcedRows.value;
  if (rows.length === 0) {
    return null;
  }
  const share = rows.reduce((sum, row) => sum + row.leaf_share, 0);
  return (
    <section class="unsafe-banner" aria-label="Unsafe names">
      <Icon name="warning" size={14} />
      <p>
        <strong>
          Unsafe: names in {rows.map(({ name }) => name).join(", ")} come from {whichFiles(rows)}.
        </strong>{" "}
        They are marked ≠ and may be wrong. They cover {percent(share)} of samples.
      </p>
      {stoppable.value.length > 0 && (
        <button type="button" class="guru-line" onClick={() => void stopForcing(stoppable.value)}>
          Stop using {stoppable.value.length === 1 ? "this file" : "these files"}
        </button>
      )}
    </section>
  );
}

function whichFiles(rows: readonly DsoRow[]): string {
  const [files, one] = rows.length === 1 ? ["a file", "a different build-id"] : ["files", "different build-ids"];
  return rows.some(({ build_id }) => build_id === null) ? `${files} that could not be verified` : `${files} with ${one}`;
}
