// The ledger in the dock: how much has names, what would name more, and every DSO with its status.

import type { JSX } from "preact";
import { count, percent } from "../state/format.ts";
import { pickBinaries } from "../open/pick.ts";
import { admitFiles } from "./admit.ts";
import type { LedgerGroup } from "./coverage.ts";
import { CoverageBar, CoverageLegend } from "./CoverageBar.tsx";
import { requestFetch, unasked } from "./debuginfod.ts";
import { LedgerRow } from "./Row.tsx";
import { countedSamples, ledger, namedPercent, parts } from "./state.ts";

export function Ledger(): JSX.Element {
  const { groups, unused } = ledger.value;
  return (
    <div class="ledger">
      <Coverage />
      {groups.map((group) => (
        <Group key={group.title} group={group} />
      ))}
      {unused > 0 && <p class="ledger-rest">No sample passes through {count(unused)} more.</p>}
    </div>
  );
}

function Coverage(): JSX.Element {
  return (
    <section class="coverage-block" aria-label="Coverage">
      <p class="coverage-line">
        <strong>{namedPercent.value.toFixed(1)} % of {countedSamples} end in a named frame</strong>
      </p>
      <CoverageBar parts={parts.value} kind="thick" />
      <CoverageLegend parts={parts.value} />
      <p class="button-row">
        <DropButton />
        <FetchButton />
      </p>
    </section>
  );
}

export function DropButton(): JSX.Element {
  return (
    <button type="button" class="primary" onClick={() => void pickBinaries().then(admitFiles)}>
      Drop binaries or debug files…
    </button>
  );
}

export function FetchButton(): JSX.Element | null {
  const ids = unasked.value.map((row) => row.id);
  if (ids.length === 0) {
    return null;
  }
  return (
    <button type="button" onClick={() => requestFetch(ids)}>
      Fetch {count(ids.length)} from debuginfod
    </button>
  );
}

function Group({ group: { title, rows, share } }: { group: LedgerGroup }): JSX.Element {
  return (
    <section aria-label={title}>
      <h3 class="group-head">
        {title} <span>{count(rows.length)} {rows.length === 1 ? "DSO" : "DSOs"}</span>
        <span class="push-right">{percent(share)}</span>
      </h3>
      <ul>
        {rows.map((row) => (
          <LedgerRow key={row.id} row={row} />
        ))}
      </ul>
    </section>
  );
}
