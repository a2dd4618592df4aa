// The link: how much of the profile, where it will be pasted, what it keeps, and the link itself.

import type { JSX } from "preact";
import type { Shared } from "../session/types.ts";
import { above, count, percent } from "../state/format.ts";
import { Bar } from "../shell/Bar.tsx";
import { Copy } from "../shell/Copy.tsx";
import { Icon } from "../shell/icons.tsx";
import { NOWHERE } from "./base.ts";
import { BUDGETS, LONGEST_EVERYWHERE, MOST_CHARACTERS, OTHER } from "./budgets.ts";
import { ScopeNotice } from "./ScopeNotice.tsx";
import { SnapshotContents } from "./SnapshotContents.tsx";
import { Readable } from "./Readable.tsx";
import { ScopeChoice } from "./ScopeChoice.tsx";
import { TitleField } from "./TitleField.tsx";
import {
  base,
  baseField,
  budget,
  cancelLink,
  characters,
  chooseOther,
  chosen,
  link,
  made,
  makeLink,
  otherCharacters,
} from "./links.ts";

export function LinkTab(): JSX.Element {
  return (
    <div class="share-body">
      <div class="share-main">
        <div class="share-intro">
          <p>The profile is in the link itself, after the #. No server stores it, and any perftab page opens it.</p>
          <ScopeChoice />
        </div>
        <ScopeNotice />
        <div class="share-fields">
          <TitleField />
          <BaseField />
        </div>
        <Budgets />
        <SnapshotContents title="What this link keeps" made={chosen.value} />
        <LinkText />
        <Actions />
      </div>
      <Readable of="link" made={chosen.value} />
    </div>
  );
}

function Budgets(): JSX.Element {
  return (
    <fieldset class="budgets">
      <legend>Where will you paste it?</legend>
      {BUDGETS.map((each, index) => (
        <label key={each.name} class={budget.value === index ? "selected" : ""}>
          <BudgetRadio index={index} />
          <strong>{each.name}</strong>
          <span class="number ink-mute">{count(each.characters)}</span>
          <BudgetResult characters={each.characters} isChosen={budget.value === index} />
        </label>
      ))}
      <OtherBudget />
      <p class="note">Columns: limit in characters, what fits, and the share of weight that is not folded.</p>
    </fieldset>
  );
}

function BudgetRadio({ index }: { index: number }): JSX.Element {
  return (
    <input
      type="radio"
      name="budget"
      checked={budget.value === index}
      onChange={() => {
        budget.value = index;
      }}
    />
  );
}

function OtherBudget(): JSX.Element {
  const isChosen = budget.value === OTHER;
  return (
    <label class={isChosen ? "selected" : ""}>
      <BudgetRadio index={OTHER} />
      <strong>Other</strong>
      <input
        type="number"
        class="number"
        aria-label="Length limit in characters"
        min={1}
        max={MOST_CHARACTERS}
        value={otherCharacters.value}
        onChange={(event) => chooseOther(event.currentTarget.valueAsNumber || 0)}
      />
      {isChosen ? <BudgetResult characters={characters.value} isChosen /> : <span class="ink-mute">characters</span>}
    </label>
  );
}

function BudgetResult({ characters: size, isChosen }: { characters: number; isChosen: boolean }): JSX.Element {
  const result = made.value.get(size) ?? { kind: "making", before: null };
  if (result.kind === "failed") {
    return <span class="budget-words ink-bad">{result.message}</span>;
  }
  const shared = result.kind === "made" ? result.shared : result.kind === "making" ? result.before : null;
  if (shared === null) {
    return <span class="ink-mute">{!isChosen ? "as much as fits" : result.kind === "making" ? "creating…" : "not created"}</span>;
  }
  const { kept_weight_share: share } = shared.fidelity;
  return (
    <>
      <span>{budgetWords(shared)}</span>
      <Bar share={share} tone={share >= 0.95 ? "ok" : "warn"} />
      <strong class="number">{percent(share)}</strong>
    </>
  );
}

/** "all calls ≥ 0.12 %, timeline", "all samples; Chromium only" */
function budgetWords({ fidelity: { threshold_share: threshold, times }, characters: length }: Shared): string {
  const calls = threshold > 0 ? `all calls ≥ ${above(threshold)}` : "all calls";
  const timeline = {
    none: calls,
    processes: `${calls}, timeline`,
    threads: `${calls}, timeline per thread`,
    samples: "all samples",
  };
  return timeline[times] + (length > LONGEST_EVERYWHERE ? "; Chromium only" : "");
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
  const text = link.value;
  const here =
    result.kind === "made"
      ? `${location.origin === "null" ? "file://" : location.origin}${location.pathname}#${result.shared.payload}`
      : null;
  return (
    <footer class="share-actions">
      <span role="status">
        {result.kind === "made" && (
          <>
            <strong>{count(result.shared.characters)} characters</strong>{" "}
            <span class="ink-mute">of {count(characters.value)}</span>
            {result.shared.characters > LONGEST_EVERYWHERE && (
              <span class="note">Only Chromium is known to open a link this long.</span>
            )}
            {base.value === NOWHERE && (
              <span class="note ink-warn">This link names no page yet. Paste it into any perftab page to open it.</span>
            )}
          </>
        )}
        {result.kind === "making" && (
          <>
            <span class="ink-mute">Creating the link…</span>{" "}
            <button type="button" class="quiet" onClick={cancelLink}>
              Cancel
            </button>
          </>
        )}
        {result.kind === "cancelled" && (
          <button type="button" onClick={makeLink}>
            Create the link
          </button>
        )}
      </span>
      <span class="push-right button-row">
        <button
          type="button"
          class="tall"
          disabled={here === null}
          onClick={() => here !== null && window.open(here, "_blank", "noopener")}
        >
          Open in a new tab
        </button>
        <Copy
          class="primary tall"
          text={text ?? ""}
          disabled={text === null}
          label={
            <>
              <Icon name="link" size={14} /> Copy link
            </>
          }
        />
      </span>
    </footer>
  );
}

/** Who gets a link opens it wherever a perftab page is; a link that names one opens by a click. */
function BaseField(): JSX.Element {
  return (
    <label class="field share-title">
      <span>Page</span>
      <input
        type="text"
        inputMode="url"
        spellcheck={false}
        aria-label="Page of your readers"
        placeholder="https://… that your readers use"
        value={baseField.value || (base.value === NOWHERE ? "" : base.value)}
        onChange={(event) => {
          baseField.value = event.currentTarget.value;
        }}
      />
    </label>
  );
}
