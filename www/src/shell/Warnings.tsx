// What was lost or could not be read, counted.

import type { JSX } from "preact";
import type { ProfileInfo, Warning } from "../session/types.ts";
import { info } from "../state/app.ts";
import { count } from "../state/format.ts";
import { Copy } from "./Copy.tsx";
import { Icon } from "./icons.tsx";
import { Popover } from "./Popover.tsx";

interface Row {
  kind: string;
  message: string;
  times: number;
  /** Of the first one. */
  offset: number | null;
}

/** Equal warnings as one row with a count, most frequent first. */
export function groupWarnings(warnings: readonly Warning[]): Row[] {
  const rows = new Map<string, Row>();
  for (const { kind, message, offset } of warnings) {
    const key = `${kind}\n${message}`;
    const row = rows.get(key);
    if (row === undefined) {
      rows.set(key, { kind, message, times: 1, offset });
    } else {
      row.times += 1;
    }
  }
  return [...rows.values()].sort((a, b) => b.times - a.times);
}

export function Warnings(): JSX.Element | null {
  const profile = info.value;
  if (profile === null || profile.warnings.length === 0) {
    return null;
  }
  const rows = groupWarnings(profile.warnings);
  const label = (
    <>
      <Icon name="warning" /> <span class="warnings-text">{count(rows.length)} {rows.length === 1 ? "warning" : "warnings"}</span>
    </>
  );
  return (
    <Popover label={label} buttonClass="quiet warnings-button" panelClass="warnings-panel" name={`${rows.length} warnings`}>
      {() => <Table profile={profile} rows={rows} />}
    </Popover>
  );
}

function Table({ profile, rows }: { profile: ProfileInfo; rows: readonly Row[] }): JSX.Element {
  const lost = profile.lost.samples;
  const text = rows.map(({ kind, message, times, offset }) => [times, kind, hex(offset), message].join("\t")).join("\n");
  return (
    <>
      <p class="funnel">
        recorded {count(profile.samples + lost)} <span aria-hidden="true">→</span> lost {count(lost)}{" "}
        <span aria-hidden="true">→</span> shown {count(profile.samples)}
      </p>
      <table>
        <thead>
          <tr><th scope="col">Kind</th><th scope="col" class="number">Count</th><th scope="col">Offset</th><th scope="col">What it means</th></tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={`${row.kind}${row.message}`}>
              <td>{row.kind.replaceAll("-", " ")}</td>
              <td class="number">{count(row.times)}</td>
              <td><code>{hex(row.offset)}</code></td>
              <td>{row.message}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="button-row end"><Copy text={text} label="Copy as text" class="" /></p>
    </>
  );
}

function hex(offset: number | null): string {
  return offset === null ? "" : `0x${offset.toString(16)}`;
}
