// What one DSO's status means: what is wanted, what was given, where it can be had, what was tried and what came of it.

import type { JSX } from "preact";
import { Fragment } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { DsoRow } from "../session/types.ts";
import { info, opened, selectedDso } from "../state/app.ts";
import { bytes, percent } from "../state/format.ts";
import { Icon } from "../shell/icons.tsx";
import { givenFor } from "./admit.ts";
import { answersFor } from "./debuginfod.ts";
import { stopForcing, stoppable } from "./forced.ts";
import { isPart } from "./filtered.ts";
import { groupId } from "./identity.ts";
import { describeWhen } from "./modified.ts";
import { whatItDid } from "./outcome.ts";
import { isAmong } from "./state.ts";
import { StatusGlyph, statusDetail, takenFrom } from "./status.tsx";
import { describeUsers, usersOf } from "./users.ts";
import { Ways } from "./Ways.tsx";

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
      {isAmong(stoppable.value, row) && <Stop row={row} />}
      <Ids row={row} />
      <Facts row={row} />
      <Ways row={row} />
      <AttemptList row={row} />
    </aside>
  );
}

/** Takes the place of the button that forced, and its focus. */
function Stop({ row }: { row: DsoRow }): JSX.Element {
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (document.activeElement === document.body) {
      button.current?.focus();
    }
  }, []);
  return (
    <p>
      <button ref={button} type="button" class="guru-line" onClick={() => void stopForcing([row])}>
        Stop using this file
      </button>
    </p>
  );
}

function title(row: DsoRow): string {
  switch (row.status) {
    case "matched":
      return `${row.name} matches the recorded build`;
    case "no-symbols":
      return `${row.name} has no symbols`;
    case "embedded":
      return `${row.name} has embedded symbols`;
    case "self-named":
      return `${row.name} is named by its own process`;
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
  // Where the ledger counts what is shown alone, its row has another share.
  const base = isPart.value ? "all samples" : "samples";
  const stay = `${percent(row.leaf_share)} of ${base} are shown as addresses.`;
  switch (row.status) {
    case "matched":
      return `Its build-id is the recorded one, so its names are right. It provides ${row.gives ?? "names"}.`;
    case "no-symbols":
      return `The file is the build that ran, but it was stripped of its symbols. ${stay} Its .debug file has them; distributions keep it in a debug package.`;
    case "embedded":
      return "Its symbols were recorded with the profile, on the machine where it ran.";
    case "self-named":
      return `The process made this code while it ran, and wrote down what it is called${row.image === null ? "" : ` (${row.image})`}. ${statusDetail(row) ?? ""}. No build-id vouches for these names.`;
    case "missing":
      return `The build that ran is known, but no file with its build-id has been added. ${stay}`;
    case "mismatched":
      return `The file you added is not the build that ran. Its functions are at other addresses, so its names would be wrong; none were used. ${stay}`;
    case "no-identity":
      if (row.kind === "anon" || row.kind === "jit") {
        return `${statusDetail(row)}. This code was generated at run time, for example by a JIT compiler; no file contains it. Add the perf map (perf-PID.map) or jitdump (jit-PID.dump) that its process wrote. ${stay}`;
      }
      return `${statusDetail(row)}. No file can be verified as the one that ran. ${stay} Record again with perftab record or perf record --buildid-mmap.`;
    case "forced":
      return `Its names are ${takenFrom(row)}. They are marked ≠ everywhere and may be wrong. They do not count as named, and source lines are not shown.`;
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
  const found = row.status === "mismatched" || row.status === "forced" ? row.found : null;
  return (
    <dl class="ids">
      <dt>
        Recorded <span>{RECORDED_BY[row.recorded_by ?? ""]}</span>
      </dt>
      <dd>
        <IdText id={recorded} other={recorded} />
      </dd>
      {found !== null && (
        <>
          <dt>
            You added <span>note in the file</span>
          </dt>
          <dd>
            <IdText id={found} other={recorded} />
          </dd>
        </>
      )}
    </dl>
  );
}

/** The id in groups; those that differ are marked by ground and underline, and said: `code` takes no name. */
function IdText({ id, other }: { id: string; other: string }): JSX.Element {
  return (
    <>
      <code class="id-groups">
        {groupId(id, other).map(({ text, differs }, index) => (
          <span key={index} class={differs ? "differs" : ""}>
            {text}
          </span>
        ))}
      </code>
      {id !== other && <span class="visually-hidden">differs</span>}
    </>
  );
}

function Facts({ row }: { row: DsoRow }): JSX.Element {
  const users = usersOf(row);
  const given = row.status === "mismatched" || row.status === "forced" ? givenFor.value.get(row.id) : undefined;
  return (
    <dl class="facts">
      {given !== undefined && (
        <>
          <dt>File</dt>
          <dd>
            {given.name}{" "}
            <span>
              {bytes(given.size)}, {describeWhen(given.lastModified, info.value?.time ?? null, opened.value)}
            </span>
          </dd>
        </>
      )}
      {row.made_by !== null && (
        <>
          <dt>Compiler</dt>
          <dd>{row.made_by}</dd>
        </>
      )}
      {row.image !== null && (
        <>
          <dt>Names from</dt>
          <dd>
            {row.image} <span>{row.gives}</span>
          </dd>
        </>
      )}
      <dt>Recorded path</dt>
      <dd class="breakable">
        {row.path} {users !== null && <span>{describeUsers(users)}</span>}
      </dd>
      {row.listed_as !== null && (
        <>
          <dt>In the build-id table</dt>
          <dd class="breakable">{row.listed_as}</dd>
        </>
      )}
    </dl>
  );
}

/** Files, places and servers, each with what came of it. */
function AttemptList({ row }: { row: DsoRow }): JSX.Element | null {
  const servers = answersFor(row).map((answer) => ({ what: answer.server, outcome: whatItDid(answer) }));
  const tried = [...row.tried, ...servers];
  if (tried.length === 0) {
    return null;
  }
  return (
    <section class="tried" aria-label="Tried">
      <h3>Tried</h3>
      <dl class="facts">
        {tried.map(({ what, outcome }, index) => (
          <Fragment key={index}>
            <dt class="breakable">{what}</dt>
            <dd class="breakable">{outcome}</dd>
          </Fragment>
        ))}
      </dl>
    </section>
  );
}
