// What was lost or could not be read, counted.

import type { JSX } from "preact";
import { Fragment } from "preact";
import { callerGuesses, guessCallers } from "../ledger/admit.ts";
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
  const total = profile === null ? 0 : profile.warnings.length;
  if (profile === null || total === 0) {
    return null;
  }
  const name = `${count(total)} ${total === 1 ? "warning" : "warnings"}`;
  const label = (
    <>
      <Icon name="warning" /> <span class="warnings-text">{name}</span>
    </>
  );
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
              <th scope="col">Kind</th>
              <th scope="col" class="number">
                Count
              </th>
              <th scope="col">File offset</th>
              <th scope="col">Consequence</th>
              <th scope="col">Remedy</th>
            </tr>
          </thead>
          {byKind(profile.warnings).map((losses) => (
            <Kind key={losses.kind} of={losses} />
          ))}
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

function Kind({ of: { kind, title, remedy, losses } }: { of: Losses }): JSX.Element {
  return (
    <tbody>
      {losses.map((loss, index) => (
        <tr key={index}>
          {index === 0 && (
            <th scope="rowgroup" rowSpan={losses.length}>
              {title}
            </th>
          )}
          <Place loss={loss} />
          <td>{loss.message}</td>
          {index === 0 && (
            <td rowSpan={losses.length}>
              {remedy} {kind === "not-unwound" && <Guess />}
            </td>
          )}
        </tr>
      ))}
    </tbody>
  );
}

/** What no file tells of may be guessed. */
function Guess(): JSX.Element {
  const guesses = callerGuesses.value;
  return (
    <button type="button" onClick={() => void guessCallers(guesses === "none" ? "by-frame-pointer" : "none")}>
      {guesses === "none" ? "Guess callers by frame pointer" : "Do not guess callers"}
    </button>
  );
}

function Place({ loss }: { loss: Warning }): JSX.Element {
  const { text, title } = place(loss.offset);
  return (
    <>
      <td class="number">{count(loss.samples ?? loss.count)}</td>
      <td>
        <code title={title}>{text}</code>
      </td>
    </>
  );
}
