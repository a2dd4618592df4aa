// A DSO in the dock: what it is, whether its names can be trusted, and the one thing to do about it.

import type { JSX } from "preact";
import type { DsoRow } from "../session/types.ts";
import { ledgerFull, selectedDso } from "../state/app.ts";
import { bytesOf, percent } from "../state/format.ts";
import { progressShare } from "../state/tasks.ts";
import { Bar, ProgressBar } from "../shell/Bar.tsx";
import { pickBinaries } from "../open/pick.ts";
import { admitFiles } from "./admit.ts";
import { unnamedPart } from "./coverage.ts";
import { answersFor, cancelFetch, fetchable, fetchAgain, fetching, isWanted } from "./debuginfod.ts";
import { stopForcing, stoppable } from "./forced.ts";
import { describeAnswers } from "./outcome.ts";
import { barShare, isAmong, twins } from "./state.ts";
import { describeUsers, usersOf } from "./users.ts";
import { STATUS, StatusGlyph, idText, statusDetail } from "./status.tsx";

/** `share` is what it has of its group. */
export function LedgerRow({ row, share }: { row: DsoRow; share: number }): JSX.Element {
  const look = STATUS[row.status];
  const selected = selectedDso.value === row.id;
  return (
    <li class={`dso-row${selected ? " selected" : ""}`} data-status={row.status}>
      <StatusGlyph status={row.status} />
      <button type="button" class="dso-name" title={row.path} aria-pressed={selected} onClick={() => toggle(row)}>
        {row.name}
      </button>
      <span class="dso-share">{percent(share)}</span>
      <span class="dso-status">
        <span class={`ink-${look.tone}`}>{look.word}</span> <code title={row.build_id ?? ""}>{idText(row)}</code>
      </span>
      <DsoAction row={row} />
      <Detail row={row} />
      <UsersLine row={row} />
      <Bar share={barShare(row)} tone={look.tone} />
    </li>
  );
}

function toggle(row: DsoRow): void {
  selectedDso.value = selectedDso.peek() === row.id ? null : row.id;
}

function Detail({ row }: { row: DsoRow }): JSX.Element | null {
  if (fetching.value.has(row.id)) {
    return <FetchProgress row={row} />;
  }
  const text = withUnnamedPart(row, fetchResult(row) ?? statusDetail(row));
  return (
    <span class="dso-detail">
      <span>{text}</span>
      {selectedDso.value === row.id && !asksWhy(row) && (
        <>
          {" "}
          <Explain row={row} words="Explain" />
        </>
      )}
    </span>
  );
}

/** A row's detail, and how much of a file with names has none. */
export function withUnnamedPart(row: DsoRow, text: string | null): string | null {
  const parts = [text, unnamedPart(row)].filter((part) => part !== null);
  return parts.length === 0 ? null : parts.join("; ");
}

/** Of a path that was two builds in the recording: who ran this one, and when. */
export function UsersLine({ row }: { row: DsoRow }): JSX.Element | null {
  const users = twins.value.has(row.id) ? usersOf(row) : null;
  const words = users === null ? null : describeUsers(users);
  return words === null ? null : <span class="dso-detail cell-detail">{words}</span>;
}

/** What servers answered, while the row still lacks a name. */
export function fetchResult(row: DsoRow): string | null {
  return isWanted(row) ? describeAnswers(answersFor(row)) : null;
}

export function FetchProgress({ row }: { row: DsoRow }): JSX.Element {
  const { host, progress } = fetching.value.get(row.id) ?? { host: "", progress: null };
  const isWaiting = progress === null && host === "";
  const text =
    progress !== null ? `${bytesOf(progress.done, progress.total)}, ${host}` : isWaiting ? "Waiting" : `Asking ${host}`;
  return (
    <span class="dso-detail fetch-progress">
      {/* One that runs without an end stands still, a third full, for who wants no motion: nothing has come of what waits. */}
      <ProgressBar share={isWaiting ? 0 : progressShare(progress)} label={`Fetching ${row.name}`} />
      <span>{text}</span>
    </span>
  );
}

/** The one action of a row, by its status. */
export function DsoAction({ row }: { row: DsoRow }): JSX.Element | null {
  if (fetching.value.has(row.id)) {
    return (
      <button type="button" class="link" onClick={() => cancelFetch(row.id)}>
        Cancel<span class="visually-hidden"> fetching {row.name}</span>
      </button>
    );
  }
  const hasNone = row.status === "no-symbols";
  if ((row.status === "missing" || hasNone) && isAmong(fetchable.value, row)) {
    return (
      <button type="button" class="link" onClick={() => fetchAgain(row)}>
        Fetch<span class="visually-hidden"> {row.name}</span>
      </button>
    );
  }
  if (hasNone || (row.status === "matched" && row.gives === "function names only")) {
    return (
      <button type="button" class="link" onClick={() => void pickBinaries().then(admitFiles)}>
        Add .debug file…<span class="visually-hidden"> for {row.name}</span>
      </button>
    );
  }
  if (isAmong(stoppable.value, row)) {
    return (
      <button type="button" class="link" onClick={() => void stopForcing([row])}>
        Stop<span class="visually-hidden"> using the file for {row.name}</span>
      </button>
    );
  }
  if (asksWhy(row)) {
    return <Explain row={row} words="Why?" />;
  }
  return null;
}

/** Nothing is as useful to do about these as to read why. */
function asksWhy({ status }: DsoRow): boolean {
  return status === "mismatched" || status === "no-identity";
}

function Explain({ row, words }: { row: DsoRow; words: string }): JSX.Element {
  const explain = (): void => {
    selectedDso.value = row.id;
    ledgerFull.value = true;
  };
  return (
    <button type="button" class="link" onClick={explain}>
      {words}
      <span class="visually-hidden"> {row.name}</span>
    </button>
  );
}
