// What was lost or could not be read, counted.

import type { JSX } from "preact";
import { Fragment } from "preact";
import type { ProfileInfo, Warning } from "../session/types.ts";
import { info } from "../state/app.ts";
import { count } from "../state/format.ts";
import { Copy } from "./Copy.tsx";
import { Icon } from "./icons.tsx";
import type { Losses } from "./losses.ts";
import { asText, byKind, funnel, place } from "./losses.ts";
import { Popover } from "./Popover.tsx";

export function Warnings(): JSX.Element | null {
  const profile = info.value;
  if (profile === null || profile.warnings.length === 0) {
    return null;
  }
  const total = profile.warnings.length;
  const name = `${count(total)} ${total === 1 ? "warning" : "warnings"}`;
  const label = <><Icon name="warning" /> <span class="warnings-text">{name}</span></>;
  return (
    <Popover label={label} buttonClass="quiet warnings-button" panelClass="warnings-panel" name={name}>
      {() => <Panel profile={profile} />}
    </Popover>
  );
}

function Panel({ profile }: { profile: ProfileInfo }): JSX.Element {
  return (
    <>
      <header class="warnings-head">
        <Funnel profile={profile} />
        <Copy text={asText(profile)} label="Copy as text" />
      </header>
      {/* What scrolls can be scrolled by keys. */}
      <div class="warnings-list" tabIndex={0} role="region" aria-label="Warnings, worst first">
        <table>
          <thead>
            <tr>
              <th scope="col" class="number">Count</th>
              <th scope="col">Offset</th>
              <th scope="col">What it means and what to do</th>
            </tr>
          </thead>
          {byKind(profile.warnings).map((losses) => <Kind key={losses.kind} losses={losses} />)}
        </table>
      </div>
    </>
  );
}

function Funnel({ profile }: { profile: ProfileInfo }): JSX.Element {
  return (
    <p class="funnel">
      {"Samples: "}
      {funnel(profile).map((step, index) => (
        <Fragment key={step.name}>
          {index > 0 && <span aria-hidden="true">→</span>} {step.name} <strong>{count(step.count)}</strong>{" "}
        </Fragment>
      ))}
    </p>
  );
}

function Kind({ losses }: { losses: Losses }): JSX.Element {
  return (
    <tbody>
      <tr class="warnings-kind">
        <th scope="rowgroup" colSpan={3}>{losses.title}</th>
      </tr>
      {losses.warnings.map((warning, index) => <Row key={index} warning={warning} />)}
    </tbody>
  );
}

function Row({ warning }: { warning: Warning }): JSX.Element {
  const { text, title } = place(warning.offset);
  return (
    <tr>
      <td class="number">{count(warning.count)}</td>
      <td><code title={title}>{text}</code></td>
      <td class="warnings-words">{warning.message}</td>
    </tr>
  );
}
