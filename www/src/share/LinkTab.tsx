// The link: where it will be pasted, what it keeps, and the link itself.

import type { ComponentChildren, JSX } from "preact";
import type { FidelityInfo } from "../session/types.ts";
import { count, fine, percent } from "../state/format.ts";
import { Bar } from "../shell/Bar.tsx";
import { Copy } from "../shell/Copy.tsx";
import { Icon } from "../shell/icons.tsx";
import { BUDGETS, LONGEST_EVERYWHERE } from "./budgets.ts";
import { Holds } from "./Holds.tsx";
import { Readable } from "./Readable.tsx";
import { base, baseField, budget, chosen, link, MADE_UNASKED, made } from "./links.ts";

export function LinkTab(): JSX.Element {
  return (
    <div class="share-body">
      <div class="share-main">
        <p>The profile is in the link itself, after the #. No server stores it, and any perftab page opens it.</p>
        <Holds what="whole" />
        <Budgets />
        <Keeps />
        <LinkText />
        <Actions />
      </div>
      <Readable>
        <BaseField />
        <p class="caution">
          <Icon name="warning" size={14} /> A link cannot be taken back. Anyone who has it can open it.
        </p>
      </Readable>
    </div>
  );
}

function Budgets(): JSX.Element {
  return (
    <fieldset class="budgets">
      <legend>Where will you paste it?</legend>
      {BUDGETS.map((each, index) => (
        <label key={each.name} class={budget.value === index ? "selected" : ""}>
          <input
            type="radio"
            name="budget"
            checked={budget.value === index}
            onChange={() => {
              budget.value = index;
            }}
          />
          <strong>{each.name}</strong>
          <span class="number ink-mute">{count(each.characters)}</span>
          <BudgetResult characters={each.characters} isChosen={budget.value === index} />
        </label>
      ))}
      <p class="note">Characters that fit, what is kept, and the share of weight kept under its own name.</p>
    </fieldset>
  );
}

function BudgetResult({ characters, isChosen }: { characters: number; isChosen: boolean }): JSX.Element {
  const result = made.value.get(characters);
  if (result === undefined || result.kind === "making") {
    return <span class="ink-mute">{isChosen ? "making it…" : characters > MADE_UNASKED ? "as much as fits" : "…"}</span>;
  }
  if (result.kind === "failed") {
    return <span class="ink-bad">{result.message}</span>;
  }
  const { keptWeightShare, thresholdShare } = result.shared.fidelity;
  return (
    <>
      <span>{thresholdShare > 0 ? `calls of ${fine(thresholdShare)} and more` : "every call"}</span>
      <Bar share={keptWeightShare} tone={keptWeightShare >= 0.95 ? "ok" : "warn"} />
      <strong class="number">{percent(keptWeightShare)}</strong>
    </>
  );
}

function Keeps(): JSX.Element {
  const result = chosen.value;
  return (
    <section class="keeps" aria-label="What this link keeps">
      <h3>What this link keeps</h3>
      {result.kind === "made" ? <KeepsList fidelity={result.shared.fidelity} /> : <p class="note">{result.kind === "making" ? "Making the link…" : result.message}</p>}
    </section>
  );
}

function KeepsList({ fidelity }: { fidelity: FidelityInfo }): JSX.Element {
  const { keptNodes, totalNodes, keptWeightShare, thresholdShare, foldedWeight, keptDsos, totalDsos } = fidelity;
  const folded = Math.max(0, 1 - keptWeightShare);
  return (
    <ul>
      <Kept
        note={foldedWeight > 0 ? `${percent(folded)} folded into callers` : "nothing folded"}
      >
        <strong>{count(keptNodes)} of {count(totalNodes)} call nodes</strong>
        {thresholdShare > 0 ? `, none under ${fine(thresholdShare)}` : ""}
      </Kept>
      <Kept note="exact">Totals of the whole profile</Kept>
      <Kept note={keptDsos < totalDsos ? "the lightest are left out" : "as here"}>
        Coverage, warnings, {keptDsos < totalDsos && `${count(keptDsos)} of `}{count(totalDsos)} {totalDsos === 1 ? "DSO" : "DSOs"}
      </Kept>
      <Left note="stay in the file">Single samples and their times</Left>
    </ul>
  );
}

function Kept({ note, children }: { note: string; children: ComponentChildren }): JSX.Element {
  return (
    <li>
      <span class="ink-ok"><Icon name="tick" size={14} /></span>
      <span>{children}</span>
      <span class="push-right ink-mute">{note}</span>
    </li>
  );
}

function Left({ note, children }: { note: string; children: ComponentChildren }): JSX.Element {
  return (
    <li class="ink-mute">
      <Icon name="dash" size={14} />
      <span><span class="visually-hidden">Left out: </span>{children}</span>
      <span class="push-right">{note}</span>
    </li>
  );
}

/** More than this is never looked at, and would be laid out for nothing. */
const SHOWN_CHARACTERS = 4_000;

function LinkText(): JSX.Element {
  const text = link.value ?? "";
  const cut = text.length > SHOWN_CHARACTERS;
  return (
    <code class="link-text" tabIndex={0} role="textbox" aria-readonly="true" aria-label="The link">
      {cut ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text}
    </code>
  );
}

function Actions(): JSX.Element {
  const result = chosen.value;
  const most = BUDGETS[budget.value]?.characters ?? 0;
  const text = link.value;
  const here = result.kind === "made" ? `${location.origin === "null" ? "file://" : location.origin}${location.pathname}#${result.shared.payload}` : null;
  return (
    <footer class="share-actions">
      <span>
        {result.kind === "made" && (
          <>
            <strong>{count(result.shared.characters)} characters</strong> <span class="ink-mute">of {count(most)}</span>
            {result.shared.characters > LONGEST_EVERYWHERE && (
              <span class="note">Only Chromium is known to open a link this long.</span>
            )}
          </>
        )}
      </span>
      <span class="push-right button-row">
        <button type="button" class="tall" disabled={here === null} onClick={() => here !== null && window.open(here, "_blank", "noopener")}>
          Open in a new tab
        </button>
        <Copy
          class="primary tall"
          text={text ?? ""}
          disabled={text === null}
          label={<><Icon name="link" size={14} /> Copy link</>}
        />
      </span>
    </footer>
  );
}

function BaseField(): JSX.Element {
  return (
    <>
      <h3>Address in the link</h3>
      <label class="field">
        <span class="note">Any perftab page opens the link, so it may name the one that your readers have.</span>
        <input
          type="text"
          inputMode="url"
          spellcheck={false}
          placeholder={base.value}
          value={baseField.value}
          onChange={(event) => {
            baseField.value = event.currentTarget.value;
          }}
        />
      </label>
    </>
  );
}
