// What one DSO's status means, with both ids where two were compared, and numbered ways to names.

import type { ComponentChildren, JSX } from "preact";
import type { DsoRow } from "../session/types.ts";
import { info, selectedDso } from "../state/app.ts";
import { bytes, percent } from "../state/format.ts";
import { Copy } from "../shell/Copy.tsx";
import { Icon } from "../shell/icons.tsx";
import { pickBinaries } from "../open/pick.ts";
import { admitFiles, givenFor } from "./admit.ts";
import { fetchable, fetching, requestFetch, whoSees } from "./debuginfod.ts";
import { groupId } from "./identity.ts";
import { FetchProgress, fetchResult } from "./Row.tsx";
import { scpCommand, shellWord } from "./shell_word.ts";
import { StatusGlyph, statusDetail } from "./status.tsx";

export function Explanation({ row }: { row: DsoRow }): JSX.Element {
  return (
    <aside class="explanation" aria-label={title(row)}>
      <header>
        <StatusGlyph status={row.status} size={18} />
        <h2>{title(row)}</h2>
        <button
          type="button"
          class="quiet icon-only push-right"
          aria-label="Close the explanation"
          onClick={() => {
            selectedDso.value = null;
          }}
        >
          <Icon name="close" />
        </button>
      </header>
      <p>{meaning(row)}</p>
      <Ids row={row} />
      <Facts row={row} />
      {row.status === "missing" || row.status === "mismatched" ? <Ways row={row} /> : null}
    </aside>
  );
}

function title(row: DsoRow): string {
  switch (row.status) {
    case "matched":
      return `${row.name} matches`;
    case "embedded":
      return `${row.name} came with the profile`;
    case "missing":
      return `${row.name} is missing`;
    case "mismatched":
      return `${row.name} is a different build`;
    case "no-identity":
      return `${row.name} has no identity`;
    case "forced":
      return `${row.name} is forced`;
  }
}

function meaning(row: DsoRow): string {
  const stay = `${percent(row.leaf_share)} of samples stay as addresses.`;
  switch (row.status) {
    case "matched":
      return `Its build-id equals the one recorded, so its names are right. It gives ${row.gives ?? "names"}.`;
    case "embedded":
      return "Its symbols were recorded with the profile, on the machine where it ran.";
    case "missing":
      return `The profile knows which build ran; no file with that build-id is here yet. ${stay}`;
    case "mismatched":
      return `The file you gave was not the one running. Its functions lie at other addresses, so its names would be wrong, and none were used. ${stay}`;
    case "no-identity":
      if (row.kind === "anon" || row.kind === "jit") {
        return `Code that was made in memory while it ran, by a JIT compiler for instance. No file holds it. ${stay}`;
      }
      return `${statusDetail(row) ?? "Recorded without a build-id"}. Without one, nothing tells whether a file is the one that ran: ${stay} Record again with perftab record, or perf record --buildid-mmap.`;
    case "forced":
      return "Its names come from another build and may be wrong.";
  }
}

const RECORDED_BY: Record<string, string> = {
  mmap: "by mmap event",
  table: "in the build-id table",
  stream: "by build-id event",
};

function Ids({ row }: { row: DsoRow }): JSX.Element | null {
  const recorded = row.build_id;
  if (recorded === null) {
    return null;
  }
  const found = row.status === "mismatched" ? row.found : null;
  return (
    <dl class="ids">
      <dt>Recorded <span>{RECORDED_BY[row.recorded_by ?? ""]}</span></dt>
      <dd><IdText id={recorded} other={recorded} /></dd>
      {found !== null && (
        <>
          <dt>You gave <span>note in the file</span></dt>
          <dd><IdText id={found} other={recorded} /></dd>
        </>
      )}
    </dl>
  );
}

/** The id in groups; those that differ are marked by ground and underline, and said. */
function IdText({ id, other }: { id: string; other: string }): JSX.Element {
  return (
    <code class="id-groups" aria-label={id === other ? id : `${id}, differs`}>
      {groupId(id, other).map(({ text, differs }, index) => (
        <span key={index} class={differs ? "differs" : ""}>{text}</span>
      ))}
    </code>
  );
}

function Facts({ row }: { row: DsoRow }): JSX.Element {
  const given = givenFor.value.get(row.id);
  return (
    <dl class="facts">
      {given !== undefined && row.status === "mismatched" && (
        <>
          <dt>File</dt>
          <dd>
            {given.name} <span>{bytes(given.bytes)}, modified {new Date(given.modified).toLocaleString()}</span>
          </dd>
        </>
      )}
      {row.image !== null && (
        <>
          <dt>Names from</dt>
          <dd>{row.image} <span>{row.gives}</span></dd>
        </>
      )}
      <dt>In the profile</dt>
      <dd class="breakable">{row.path}</dd>
    </dl>
  );
}

function Ways({ row }: { row: DsoRow }): JSX.Element {
  const host = info.value?.host.hostname ?? "the-host";
  const canFetch = fetchable.value.includes(row);
  const isFile = row.path.startsWith("/");
  return (
    <section class="ways" aria-label="To get names">
      <h3>To get names</h3>
      <ol>
        {canFetch && (
          <Way title="Fetch by build-id" action={<FetchAction row={row} />}>
            {fetching.value.has(row.id) ? <FetchProgress row={row} /> : fetchResult(row) ?? whoSees(`${row.build_id?.slice(0, 8) ?? ""}…`)}
          </Way>
        )}
        {isFile && (
          <Way title={`Copy the file from ${host}, if it is still there`} action={<Copy text={scpCommand(host, row.path)} class="" />}>
            <code class="command">{scpCommand(host, row.path)}</code>
            <span class="check">Check first: <code>readelf -n {shellWord(row.path)}</code> shows its build-id.</span>
          </Way>
        )}
        <Way
          title={row.status === "mismatched" ? "Drop another candidate" : "Drop a candidate"}
          action={<button type="button" onClick={() => void pickBinaries().then(admitFiles)}>Choose…</button>}
        >
          The binary, or the debug file made of it. The name of the file does not matter.
        </Way>
      </ol>
    </section>
  );
}

function FetchAction({ row }: { row: DsoRow }): JSX.Element {
  return (
    <button type="button" class="primary" disabled={fetching.value.has(row.id)} onClick={() => requestFetch([row.id])}>
      Fetch
    </button>
  );
}

function Way({ title, action, children }: { title: string; action: JSX.Element; children: ComponentChildren }): JSX.Element {
  return (
    <li>
      <div class="way-text">
        <strong>{title}</strong>
        <div>{children}</div>
      </div>
      {action}
    </li>
  );
}
