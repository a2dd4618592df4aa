// The one search field. Enter and Shift-Enter step through the matches, Esc leaves.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { dock, dockOpen, search, searchResult, searchStep } from "../state/app.ts";
import { count, percent } from "../state/format.ts";
import { stepSearch } from "../state/search.ts";
import { namedPercent } from "../ledger/CoverageBar.tsx";
import { coverage } from "../ledger/state.ts";
import { Icon } from "./icons.tsx";

/** Counts requests for the focus, from `/` and from the phone's button. */
export const searchWanted = signal(0);
/** On a phone the field shows only while it is used. */
const unfolded = signal(false);

export function focusSearch(): void {
  unfolded.value = true;
  searchWanted.value += 1;
}

export function SearchField(): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  const wanted = searchWanted.value;
  useEffect(() => {
    if (wanted > 0) {
      input.current?.focus();
      input.current?.select();
    }
  }, [wanted]);
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
          onKeyDown={(event) => onKey(event, input.current)}
          onBlur={() => {
            unfolded.value = search.value !== "";
          }}
        />
        {search.value === "" ? <kbd>/</kbd> : <Result />}
      </div>
    </search>
  );
}

function onKey(event: KeyboardEvent, input: HTMLInputElement | null): void {
  if (event.key === "Enter") {
    event.preventDefault();
    stepSearch(event.shiftKey ? -1 : 1);
  } else if (event.key === "Escape") {
    event.preventDefault();
    if (search.value === "") {
      input?.blur();
    }
    search.value = "";
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
          searchWanted.value += 1;
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
  const unnamed = 100 - namedPercent(coverage.value);
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
