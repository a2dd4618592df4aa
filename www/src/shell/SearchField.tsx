// The one field: text searches functions, DSOs and source files, and lists them; `>` lists commands. Arrows go through the
// list, Enter and Shift-Enter step through the matches, Esc leaves it for the view. A view that shows text finds it there, too.

import { computed, effect, signal } from "@preact/signals";
import type { JSX } from "preact";
import { createRef } from "preact";
import { useEffect, useLayoutEffect } from "preact/hooks";
import { comparison, dock, dockOpen, ledgerFull, search, searchResult, searchStep } from "../state/app.ts";
import { keyOf, withKey } from "../state/commands.ts";
import { count, counted, percent } from "../state/format.ts";
import { stepFound, stepSearch, within } from "../state/search.ts";
import { speak } from "../state/toasts.ts";
import { narrow } from "../state/width.ts";
import { unnamedWords } from "../ledger/state.ts";
import { eventTasks } from "../state/event_tasks.ts";
import { setTasks } from "../views/query_steps.ts";
import { focusView } from "./focus_view.ts";
import type { Found } from "./found_tasks.ts";
import { countedTasks, meant } from "./found_tasks.ts";
import { activeFound, FOUND, FoundList, foundSome } from "./FoundList.tsx";
import { Icon } from "./icons.tsx";
import { activeOption, LIST, Palette, paletteKey, resetPalette } from "./Palette.tsx";

/** On a phone the field shows only while it is used. */
const unfolded = signal(false);
const focused = signal(false);
/** What is typed, where it is a command and not a search; null where it is a search. */
const command = signal<string | null>(null);
/** Whether what was found is listed: while somebody types or goes through the list, until they choose. */
const listed = signal(false);
const input = createRef<HTMLInputElement>();

const LABEL = "Search functions, DSOs, source files";

/** At once, so that what is typed right after `/` goes to the field. */
export function focusSearch(): void {
  command.value = null;
  unfold();
}

/** The same for commands. */
export function focusPalette(): void {
  command.value = "";
  resetPalette();
  unfold();
}

function unfold(): void {
  unfolded.value = true;
  focusField();
}

function focusField(): void {
  input.current?.focus();
  // Whoever opens it again types over what was there; the sign of commands stays.
  input.current?.setSelectionRange(command.peek() === null ? 0 : 1, input.current.value.length);
}

const shownText = computed(() => (command.value === null ? search.value : `>${command.value}`));

// A search that begins elsewhere, in an address or by Back, ends the commands.
effect(() => {
  if (search.value !== "") {
    command.value = null;
  }
});

// Where nothing is searched and nobody types, a phone has its bar back, whoever ended the search.
effect(() => {
  if (search.value === "" && command.value === null && !focused.value) {
    unfolded.value = false;
  }
});

function type(text: string): void {
  if (text.startsWith(">")) {
    search.value = "";
    command.value = text.slice(1);
    resetPalette();
  } else {
    command.value = null;
    entered = "";
    search.value = text;
    listed.value = true;
  }
}

export function SearchField(): JSX.Element {
  const isCommand = command.value !== null;
  const isOpen = focused.value;
  const list = !isOpen ? null : isCommand ? "commands" : listed.value && foundSome.value ? "found" : null;
  // On a phone it can have the focus only now. A frame later would be too late: the first letters would be the page's keys.
  useLayoutEffect(() => {
    if (unfolded.value) {
      focusField();
    }
  }, [unfolded.value]);
  return (
    <search class={`search${unfolded.value ? " unfolded" : ""}`}>
      <button type="button" class="quiet icon-only search-open" aria-label="Search" onClick={focusSearch}>
        <Icon name="search" />
      </button>
      <div class="search-box" onFocusIn={() => enter()} onFocusOut={(event) => leaveBox(event)}>
        <Icon name="search" />
        <input
          ref={input}
          type="text"
          placeholder={LABEL}
          aria-label={isCommand ? "Commands" : LABEL}
          class={isCommand ? "of-commands" : undefined}
          aria-describedby={isOpen && list === null ? "search-panel" : undefined}
          {...(list === "commands" ? asCombobox(LIST, activeOption(command.value ?? "")) : {})}
          {...(list === "found" ? asCombobox(FOUND, activeFound()) : {})}
          autocomplete="off"
          spellcheck={false}
          value={shownText.value}
          onInput={(event) => type(event.currentTarget.value)}
          onClick={() => {
            listed.value = true;
          }}
          onKeyDown={onKey}
        />
        {shownText.value === "" ? <kbd>{keyOf("search")}</kbd> : <Result isCommand={isCommand} />}
        {list === "commands" && <Palette text={command.value ?? ""} onDone={closeField} />}
        {list === "found" && <FoundList onDone={closeField} />}
        {list === null && isOpen && <Panel />}
      </div>
    </search>
  );
}

/** What tells a screen reader that the arrow keys go through the list below. */
function asCombobox(list: string, option: string | undefined) {
  return {
    role: "combobox",
    "aria-expanded": true,
    "aria-controls": list,
    "aria-autocomplete": "list",
    "aria-activedescendant": option,
  } as const;
}

function enter(): void {
  focused.value = true;
}

function leaveBox(event: FocusEvent): void {
  const box = event.currentTarget as HTMLElement;
  if (event.relatedTarget instanceof Node && box.contains(event.relatedTarget)) {
    return;
  }
  focused.value = false;
  listed.value = false;
  command.value = null;
}

/** Leaves the field for the view. */
function closeField(): void {
  command.value = null;
  input.current?.blur();
  unfolded.value = false;
  if (document.querySelector("dialog[open]") === null) {
    focusView();
  }
}

function onKey(event: KeyboardEvent): void {
  if (event.isComposing) {
    return;
  }
  const text = command.peek();
  if (event.key === "Escape") {
    search.value = "";
    closeField();
  } else if (text !== null) {
    if (!paletteKey(event, text, closeField)) {
      return;
    }
  } else if (event.key === "Enter") {
    // What the arrows went to is chosen, and seen once the list is gone.
    const isChosen = listed.peek() && searchStep.peek() >= 0;
    const found = tasks.peek();
    listed.value = false;
    entered = searchResult.peek() === null ? search.peek() : "";
    if (found !== null) {
      showTasks(found);
    } else if (!isChosen) {
      stepFound(event.shiftKey ? -1 : 1);
    }
  } else if (search.peek() !== "" && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
    listed.value = true;
    stepSearch(event.key === "ArrowDown" ? 1 : -1);
  } else {
    return;
  }
  event.preventDefault();
}

function Result({ isCommand }: { isCommand: boolean }): JSX.Element {
  return (
    <span class="search-result" aria-live="polite">
      {!isCommand && <Count />}
      <button
        type="button"
        class="quiet icon-only"
        aria-label={isCommand ? "Close the commands" : "Clear the search"}
        onClick={() => {
          command.value = null;
          search.value = "";
          focusField();
        }}
      >
        <Icon name="close" size={12} />
      </button>
    </span>
  );
}

/** What the shown code has of it, else which functions. */
function Count(): JSX.Element {
  const [own, result] = [within.value, searchResult.value];
  if (own !== null && own.count !== null && own.count > 0) {
    const at = own.at === -1 ? "" : `${count(own.at + 1)} of `;
    return (
      <span>
        {at}
        {counted(own.count, "line", "lines")} of this code
      </span>
    );
  }
  if (result === null || own?.count === null) {
    return <>…</>;
  }
  return result.functions === 0 ? <span class="search-none">none</span> : <MatchCount />;
}

/** "1 of 38 functions, 12.4 % of samples" */
function MatchCount(): JSX.Element {
  const result = searchResult.value;
  const at = searchStep.value === -1 ? "" : `${count(searchStep.value + 1)} of `;
  const functions = result?.functions ?? 0;
  return (
    <span>
      {at}
      {count(functions)} {functions === 1 ? "function" : "functions"}, {percent(result?.share ?? 0)}
      <span class="search-of"> of samples</span>
    </span>
  );
}

/** Below the field: how to search, or why nothing was found. */
function Panel(): JSX.Element | null {
  if (search.value === "") {
    return (
      <div class="search-panel" id="search-panel">
        <p>All words must match. Lower-case letters match any case, capitals only capitals.</p>
        <dl class="search-syntax">
          <dt>
            <code>/ngx_.*handler/</code>
          </dt>
          <dd>regular expression</dd>
          <dt>
            <code>dso:libz</code>
          </dt>
          <dd>in DSOs</dd>
          <dt>
            <code>file:inflate.c</code>
          </dt>
          <dd>in source files</dd>
          <dt>
            <code>&gt;</code>
          </dt>
          <dd>{withKey("commands", "commands")}</dd>
        </dl>
      </div>
    );
  }
  const result = searchResult.value;
  if (result !== null && result.problem !== null) {
    return (
      <div class="search-panel" id="search-panel" role="status">
        <p>{result.problem}</p>
      </div>
    );
  }
  return isNowhere.value ? <NoMatches /> : null;
}

/** Neither functions nor the code that is shown have it; false while they are looked for. */
const isNowhere = computed(() => searchResult.value?.functions === 0 && (within.value?.count ?? 0) === 0);

/** Processes or threads that are called so, where no function is. */
const tasks = computed(() => {
  const text = search.value.trim().toLowerCase();
  // Filters by process are of one recording.
  const isMeant = text !== "" && isNowhere.value && comparison.value === null;
  return isMeant ? meant(eventTasks.value?.processes ?? [], text) : null;
});

/** What Enter was pressed for while it was searched; empty for nothing. */
let entered = "";

effect(() => {
  const found = tasks.value;
  if (found !== null && entered !== "" && entered === search.peek()) {
    entered = "";
    showTasks(found);
  }
});

function showTasks(only: Found): void {
  search.value = "";
  setTasks(only);
  closeField();
}

/** "No function matches “worker-5”, but 1 process does." */
function noneWords(found: Found | null): string {
  if (found === null) {
    return `Nothing named “${search.value}”.`;
  }
  const does = found.processes.length + found.threads.length === 1 ? "does" : "do";
  return `No function matches “${search.value}”, but ${countedTasks(found)} ${does}.`;
}

function NoMatches(): JSX.Element {
  const result = searchResult.value;
  const found = tasks.value;
  const text = [noneWords(found), unnamedWords.value].join(" ").trim();
  // The same words after another search are said again, which a status of its own would not do.
  useEffect(() => speak(text), [result, text]);
  return (
    <div class="search-panel" id="search-panel">
      <p>{text}</p>
      {found !== null && (
        <p>
          <button type="button" class="link" onClick={() => showTasks(found)}>
            Show only {countedTasks(found)}
          </button>{" "}
          <kbd>Enter</kbd>
        </p>
      )}
      {unnamedWords.value !== "" && (
        <button
          type="button"
          class="link"
          onClick={() => {
            dock.value = "dsos";
            dockOpen.value = true;
            ledgerFull.value = narrow.value;
            closeField();
          }}
        >
          Show DSOs
        </button>
      )}
    </div>
  );
}
