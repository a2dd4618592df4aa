// The dock while two profiles are compared: which DSOs are held beside each other, and how.

import { signal, useSignalEffect } from "@preact/signals";
import type { JSX } from "preact";
import { admitFiles } from "../ledger/admit.ts";
import { serversFor } from "../ledger/debuginfod.ts";
import { isAllowed, servers } from "../ledger/servers.ts";
import { pickBinaries } from "../open/pick.ts";
import { ask } from "../session/ask.ts";
import type { DsoPairRow, DsoRow } from "../session/types.ts";
import { dockOpen, event, namesGeneration, query, session } from "../state/app.ts";
import { count, shortId } from "../state/format.ts";
import { chipsOf } from "../shell/chips.ts";
import { Icon } from "../shell/icons.tsx";
import { narrow } from "../state/width.ts";
import { fetchableForSecond, fetchForSecond } from "./second.ts";
import { comparing, compareView, isInAddress, request, second } from "./state.ts";
import { amount, howCompared, RELATION_WORDS } from "./words.ts";

/** Kept while another answer is awaited. */
const pairs = signal<readonly DsoPairRow[]>([]);

export function DsoPairs(): JSX.Element {
  useSignalEffect(() => {
    void namesGeneration.value;
    const [present, asked, view] = [session.value, request.value, compareView.value];
    if (present === null || asked === null) {
      return;
    }
    return ask(
      ({ signal }) => present.call("comparedDsos", { request: asked, view }, { signal }),
      (rows) => {
        pairs.value = rows;
      },
    );
  });
  const rows = pairs.value;
  return (
    <aside class={narrow.value ? "dock dso-pairs whole" : "dock dso-pairs"} aria-label="DSOs in both">
      <header class="dock-head">
        <h2>DSOs in both</h2>
        <span class="ink-mute">
          {count(rows.length)} {rows.length === 1 ? "pair" : "pairs"}
        </span>
        {!narrow.value && (
          <button
            type="button"
            class="quiet icon-only push-right"
            aria-label="Close the side panel"
            onClick={() => {
              dockOpen.value = false;
            }}
          >
            <Icon name="close" />
          </button>
        )}
      </header>
      <div class="dock-body">
        <Ways />
        <ul>
          {rows.map((row, index) => (
            <Pair key={index} row={row} />
          ))}
        </ul>
        <p class="pairs-foot">
          DSOs with equal build-ids are compared by address, named or not. Different builds are compared by function name; code
          that moved between functions counts as less in one and more in the other. Forced names count for their own side only.
        </p>
        <WarningsOfSecond />
        {comparing.value?.with === "second" && chipsOf(query.value).length > 0 && (
          <p class="pairs-foot">Filters by name apply to both profiles. Ranges, CPUs, PIDs and TIDs apply to the first only.</p>
        )}
        <p class="pairs-foot">Time order, source and heat map show a single profile. Stop comparing to see them.</p>
        {!isInAddress.value && (
          <p class="pairs-foot">After a reload, open the second file again: the address does not include it.</p>
        )}
      </div>
    </aside>
  );
}

/** What was lost or is doubtful of the second profile; the first one's warnings are in the top bar. */
function WarningsOfSecond(): JSX.Element | null {
  const warnings = comparing.value?.with === "second" ? (second.value?.info.warnings ?? []) : [];
  if (warnings.length === 0) {
    return null;
  }
  return (
    <details class="pairs-foot ink-warn">
      <summary>
        {count(warnings.length)} {warnings.length === 1 ? "warning" : "warnings"} in {second.value?.name}
      </summary>
      <ul>
        {warnings.map(({ message }, index) => (
          <li key={index}>{message}</li>
        ))}
      </ul>
    </details>
  );
}

function Ways(): JSX.Element | null {
  if (comparing.value?.with === "rest") {
    return null;
  }
  // This machine has been asked when the profile was opened.
  const asked = servers.value.filter((server) => isAllowed(server) && server.kind !== "this-machine");
  const isAsked = (row: DsoRow): boolean => serversFor(row).some((server) => asked.includes(server));
  const fetchable = fetchableForSecond.value.filter(isAsked).length;
  return (
    <p class="pairs-ways">
      <button type="button" title="Binaries, debug files or archives" onClick={() => void pickBinaries().then(admitFiles)}>
        Add files…
      </button>
      {fetchable > 0 && (
        <button type="button" onClick={() => void fetchForSecond(asked)}>
          Fetch {count(fetchable)} for the second profile from {asked.map(({ host }) => host).join(", ")}
        </button>
      )}
    </p>
  );
}

function Pair({ row }: { row: DsoPairRow }): JSX.Element {
  const { basis, width } = compareView.value;
  const unit = event.value?.name ?? "";
  const { words, tone } = RELATION_WORDS[row.relation];
  const shown = row.relation === "only-before" || width === "before" ? row.before : row.after;
  return (
    <li class="pair" title={[row.before_path, row.after_path].filter((path) => path !== null).join("\n")}>
      <p>
        <strong>{row.name}</strong> <strong class="push-right">{amount(shown, basis, unit)}</strong>
      </p>
      <p>
        <span class={`ink-${tone}`}>{words}</span> <code class="push-right">{idsOf(row)}</code>
      </p>
      <p class={row.without_names === null ? "ink-mute" : "ink-warn"}>{howCompared(row)}</p>
    </li>
  );
}

/** "9f31c07a… → 41b7e2c0…", or the one id of both. */
function idsOf({ relation, before_build_ids: before, after_build_ids: after }: DsoPairRow): string {
  const start = (ids: readonly string[]): string => (ids[0] === undefined ? "none" : `${ids[0].slice(0, 8)}…`);
  if (relation === "two-builds" || (relation === "unidentified" && before.length + after.length > 0)) {
    return `${start(before)} → ${start(after)}`;
  }
  const id = after[0] ?? before[0];
  return id === undefined ? "" : shortId(id);
}
