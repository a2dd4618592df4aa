// What was lost or could not be read, counted.

import type { JSX } from "preact";
import type { ProfileInfo } from "../session/types.ts";
import { info } from "../state/app.ts";
import { count } from "../state/format.ts";
import { Copy } from "./Copy.tsx";
import { Icon } from "./icons.tsx";
import { Popover } from "./Popover.tsx";

export function Warnings(): JSX.Element | null {
  const profile = info.value;
  if (profile === null || profile.warnings.length === 0) {
    return null;
  }
  const total = profile.warnings.length;
  const label = (
    <>
      <Icon name="warning" /> <span class="warnings-text">{count(total)} {total === 1 ? "warning" : "warnings"}</span>
    </>
  );
  return (
    <Popover label={label} buttonClass="quiet warnings-button" panelClass="warnings-panel" name={`Warnings: ${total}`}>
      {() => <Table profile={profile} />}
    </Popover>
  );
}

function Table({ profile }: { profile: ProfileInfo }): JSX.Element {
  const lost = profile.lost.samples;
  const rows = [...profile.warnings].sort((a, b) => b.count - a.count);
  const text = rows.map((row) => [row.count, row.kind, hex(row.offset), row.message].join("\t")).join("\n");
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
              <td class="number">{count(row.count)}</td>
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
