// The one search field. Enter and Shift-Enter step through the matches, Esc leaves it for the view.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { createRef } from "preact";
import { dock, dockOpen, search, searchResult, searchStep } from "../state/app.ts";
import { count, percent } from "../state/format.ts";
import { stepSearch } from "../state/search.ts";
import { namedPercent } from "../ledger/state.ts";
import { focusView } from "./focus_view.ts";
import { Icon } from "./icons.tsx";

/** On a phone the field shows only while it is used. */
const unfolded = signal(false);
const input = createRef<HTMLInputElement>();

/** At once, so that what is typed right after `/` goes to the field; and once more when a phone has unfolded it. */
export function focusSearch(): void {
  unfolded.value = true;
  focusField();
  if (document.activeElement !== input.current) {
    requestAnimationFrame(focusField);
  }
}

function focusField(): void {
  input.current?.focus();
  input.current?.select();
}

export function SearchField(): JSX.Element {
  return (
    <search class={`search${unfolded.value ? " unfolded" : ""}`}>
      <button type="button" class="quiet icon-only search-open" aria-label="Search" onClick={focusSearch}>
        <Icon name="search" />
      </button>
      <div class="search-box">
        <Icon name="search" />
        <input
          ref={input}
          type="text"
          placeholder="Search functions and DSOs"
          aria-label="Search functions and DSOs"
          autocomplete="off"
          spellcheck={false}
          value={search.value}
          onInput={(event) => {
            search.value = event.currentTarget.value;
          }}
          onKeyDown={onKey}
          onBlur={() => {
            unfolded.value = search.value !== "";
          }}
        />
        {search.value === "" ? <kbd>/</kbd> : <Result />}
      </div>
    </search>
  );
}

function onKey(event: KeyboardEvent): void {
  if (event.key === "Enter") {
    event.preventDefault();
    stepSearch(event.shiftKey ? -1 : 1);
  } else if (event.key === "Escape") {
    event.preventDefault();
    search.value = "";
    input.current?.blur();
    focusView();
  }
}

function Result(): JSX.Element {
  const result = searchResult.value;
  return (
    <span class="search-result" aria-live="polite">
      {result === null ? "…" : result.functions === 0 ? <NothingFound /> : <Found />}
      <button
        type="button"
        class="quiet icon-only"
        aria-label="Clear the search"
        onClick={() => {
          search.value = "";
          focusField();
        }}
      >
        <Icon name="close" size={12} />
      </button>
    </span>
  );
}

function Found(): JSX.Element {
  const result = searchResult.value;
  const at = searchStep.value === -1 ? "" : `${count(searchStep.value + 1)} of `;
  const functions = result?.functions ?? 0;
  return (
    <span>
      {at}{count(functions)} {functions === 1 ? "function" : "functions"}, {percent(result?.share ?? 0)}
    </span>
  );
}

function NothingFound(): JSX.Element {
  const unnamed = 100 - namedPercent.value;
  const words = `Nothing named “${search.value}”.`;
  return unnamed < 0.05 ? (
    <span title={words}>none</span>
  ) : (
    <button
      type="button"
      class="link"
      title={`${words} ${unnamed.toFixed(1)} % of samples have no name yet. Shows the DSOs.`}
      onClick={() => {
        dock.value = "dsos";
        dockOpen.value = true;
      }}
    >
      none; {unnamed.toFixed(1)} % unnamed
    </button>
  );
}
