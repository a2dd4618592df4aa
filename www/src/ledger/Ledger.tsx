// The ledger in the dock: how much has names, what would name more, and every DSO with its status.

import type { JSX } from "preact";
import { NARROW, count, percent } from "../state/format.ts";
import { pickBinaries } from "../open/pick.ts";
import { useGradual } from "../shell/gradual.tsx";
import { admitFiles } from "./admit.ts";
import type { LedgerGroup } from "./coverage.ts";
import { shareInGroup } from "./coverage.ts";
import { CoverageBar, CoverageLegend } from "./CoverageBar.tsx";
import { requestFetch, unasked } from "./debuginfod.ts";
import { useHeldRows } from "./held_rows.ts";
import { LedgerRow } from "./Row.tsx";
import { isFiltered, ledgerCoverage, ledgerParts, partWords, scope } from "./filtered.ts";
import { countedSamples, coverageTip, ledger, ledgerNamedPercent, unusedWords } from "./state.ts";

export function Ledger(): JSX.Element {
  const { groups, unused } = ledger.value;
  const shown = useGradual(groups.length, 1);
  return (
    <div class="ledger" aria-busy={shown < groups.length}>
      <Coverage />
      <div {...useHeldRows<HTMLDivElement>()}>
        {groups.slice(0, shown).map((group) => (
          <Group key={group.title} group={group} />
        ))}
      </div>
      {unused > 0 && shown === groups.length && <p class="ledger-rest">{unusedWords(unused)}</p>}
    </div>
  );
}

function Coverage(): JSX.Element {
  return (
    <section class="coverage-block" aria-label="Coverage">
      <p class="coverage-line" title={coverageTip(ledgerCoverage.value, ledgerNamedPercent.value)}>
        <strong>
          {ledgerNamedPercent.value.toFixed(1)}
          {NARROW}% of {countedSamples} end in a named frame
        </strong>
        <ScopeButton />
      </p>
      <CoverageBar parts={ledgerParts.value} kind="thick" />
      <CoverageLegend parts={ledgerParts.value} />
      <p class="button-row">
        <AddButton />
        <FetchButton />
      </p>
    </section>
  );
}

/** Where filters act, which samples the ledger counts. Pressed, it counts the others. */
export function ScopeButton(): JSX.Element | null {
  if (!isFiltered.value) {
    return null;
  }
  const toggle = (): void => {
    scope.value = scope.peek() === "shown" ? "whole" : "shown";
  };
  const other = scope.value === "shown" ? "Count the whole profile" : `Count only the ${partWords.value}`;
  return (
    <button type="button" class="quiet scope-button" title={other} onClick={toggle}>
      {scope.value === "shown" ? partWords : "whole profile"}
    </button>
  );
}

export function AddButton(): JSX.Element {
  return (
    <button
      type="button"
      class="primary"
      title="Binaries, debug files or archives"
      onClick={() => void pickBinaries().then(admitFiles)}
    >
      Add files…
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

function Group({ group: { title, rows, share, rests } }: { group: LedgerGroup }): JSX.Element {
  const shown = useGradual(rows.length);
  return (
    <section aria-label={title}>
      <h3 class="group-head">
        {title}{" "}
        <span>
          {count(rows.length)} {rows.length === 1 ? "DSO" : "DSOs"}
        </span>
        <span class="push-right">{percent(share)}</span>
      </h3>
      <ul aria-busy={shown < rows.length}>
        {rows.slice(0, shown).map((row) => (
          <LedgerRow key={row.id} row={row} share={shareInGroup(title, row)} />
        ))}
      </ul>
      {shown >= rows.length &&
        rests.map((rest) => (
          <p key={rest.words} class="ledger-rest">
            {rest.words}: {percent(rest.share)}
          </p>
        ))}
    </section>
  );
}
