// The ledger over the whole width: a table, and at its right what one DSO's status means and what to do.

import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { DsoRow } from "../session/types.ts";
import { dsos, ledgerFull, selectedDso } from "../state/app.ts";
import { NARROW, count, percent } from "../state/format.ts";
import { Bar } from "../shell/Bar.tsx";
import { useGradual } from "../shell/gradual.tsx";
import { Icon } from "../shell/icons.tsx";
import type { LedgerGroup } from "./coverage.ts";
import { shareInGroup } from "./coverage.ts";
import { CoverageBar } from "./CoverageBar.tsx";
import { Explanation } from "./Explanation.tsx";
import { AddButton, FetchButton, ScopeButton } from "./Ledger.tsx";
import { OrderField } from "./OrderMenu.tsx";
import { ledgerCoverage, ledgerParts } from "./filtered.ts";
import { DsoAction, FetchProgress, UsersLine, fetchResult, withUnnamedPart } from "./Row.tsx";
import { fetching } from "./debuginfod.ts";
import { ColumnHead, chosenWidths, hasChosenWidth } from "../views/rows/columns.tsx";
import { useHeldRows } from "./held_rows.ts";
import { STATUS, StatusGlyph, idText, longDetail } from "./status.tsx";
import { barShare, countedSamples, coverageTip, ledger, ledgerNamedPercent, namedCount, unusedWords } from "./state.ts";

const close = (): void => {
  ledgerFull.value = false;
};

export function FullLedger(): JSX.Element {
  const { groups, unused } = ledger.value;
  const chosen = dsos.value.find((row) => row.id === selectedDso.value) ?? null;
  useEffect(() => {
    document.querySelector<HTMLElement>(".full-ledger tr.selected .row-button")?.focus();
  }, []);
  return (
    <section class="full-ledger" aria-label="DSOs">
      <header class="full-head">
        <h2>DSOs</h2>
        <span class="ink-mute">{namedCount}</span>
        <CoverageBar parts={ledgerParts.value} kind="meter wide" />
        <span class="full-named" title={coverageTip(ledgerCoverage.value, ledgerNamedPercent.value)}>
          <strong>
            {ledgerNamedPercent.value.toFixed(1)}
            {NARROW}%
          </strong>{" "}
          of {countedSamples} end in a named frame
        </span>
        <span class="push-right button-row">
          <OrderField />
          <ScopeButton />
          <FetchButton />
          <AddButton />
          <button type="button" class="quiet" onClick={close}>
            Close <Icon name="close" size={14} />
          </button>
        </span>
      </header>
      <div class="full-body">
        <div class="full-table" style={chosenWidths("ledger")}>
          <table {...useHeldRows<HTMLTableElement>()}>
            <thead>
              <tr>
                <ColumnHead as="th" words="Status" names="behind" of={{ table: "ledger", column: "status" }} />
                <th scope="col">DSO</th>
                <ColumnHead as="th" words="Recorded build-id" of={{ table: "ledger", column: "id" }} />
                <th scope="col" class="number">
                  Self
                </th>
                <th aria-hidden="true" />
                <th scope="col" class="number">
                  Total
                </th>
              </tr>
            </thead>
            {groups.map((group) => (
              <Rows key={group.title} group={group} />
            ))}
          </table>
          {unused > 0 && <p class="ledger-rest">{unusedWords(unused)}</p>}
        </div>
        {chosen !== null && <Explanation row={chosen} />}
      </div>
    </section>
  );
}

function Rows({ group: { title, rows, share, rests } }: { group: LedgerGroup }): JSX.Element {
  const shown = useGradual(rows.length);
  return (
    <tbody>
      {title === "Named" && (
        <tr class="group-row">
          <th colSpan={6} scope="rowgroup">
            {title}{" "}
            <span>
              {count(rows.length)} {rows.length === 1 ? "DSO" : "DSOs"}, {percent(share)}
            </span>
          </th>
        </tr>
      )}
      {rows.slice(0, shown).map((row) => (
        <Row key={row.id} row={row} share={shareInGroup(title, row)} />
      ))}
      {shown >= rows.length &&
        rests.map((rest) => (
          <tr key={rest.words}>
            <td />
            <td colSpan={2} class="ink-mute">
              {rest.words}
            </td>
            <td class="number">
              <strong>{percent(rest.share)}</strong>
            </td>
            <td colSpan={2} />
          </tr>
        ))}
    </tbody>
  );
}

function Detail({ row }: { row: DsoRow }): JSX.Element {
  return fetching.value.has(row.id) ? (
    <FetchProgress row={row} />
  ) : (
    <span class="cell-detail">{withUnnamedPart(row, fetchResult(row) ?? longDetail(row))}</span>
  );
}

function Row({ row, share }: { row: DsoRow; share: number }): JSX.Element {
  const look = STATUS[row.status];
  const select = (): void => {
    selectedDso.value = row.id;
  };
  return (
    <tr class={selectedDso.value === row.id ? "selected" : ""} data-status={row.status} onClick={select}>
      <td class={`status status-cell ink-${look.tone}`}>
        <StatusGlyph status={row.status} /> {look.word}
      </td>
      <td>
        <button type="button" class="row-button" title={row.path} onClick={select}>
          {row.name}
        </button>{" "}
        <DsoAction row={row} />
        <Detail row={row} />
        <UsersLine row={row} />
      </td>
      <td class="id">
        <code title={row.build_id ?? ""}>{hasChosenWidth("ledger", "id") ? (row.build_id ?? idText(row)) : idText(row)}</code>
      </td>
      <td class="number">
        <strong>{percent(share)}</strong>
      </td>
      <td class="bar-cell">
        <Bar share={barShare(row)} tone={look.tone} />
      </td>
      <td class="number">{percent(row.share)}</td>
    </tr>
  );
}
