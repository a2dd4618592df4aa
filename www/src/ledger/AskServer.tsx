// Before the first question to a debuginfod: who is asked, in which order, and what they will see.

import type { Signal } from "@preact/signals";
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { Copy } from "../shell/Copy.tsx";
import { Dialog } from "../shell/Dialog.tsx";
import { info, recordingName } from "../state/app.ts";
import { count } from "../state/format.ts";
import { allowAndFetch, asking } from "./debuginfod.ts";
import {
  addServer,
  areAllowed,
  fetchesAutomatically,
  readServerUrl,
  serverField,
  servers,
  setAutomatic,
  whoSees,
} from "./servers.ts";
import { viewCommand } from "./shell_word.ts";
import { served } from "../open/served.ts";

export function AskServer(): JSX.Element | null {
  return asking.value === null ? null : <Asking ids={asking.value} />;
}

function Asking({ ids }: { ids: readonly number[] }): JSX.Element {
  const automatically = useSignal(fetchesAutomatically.peek());
  const close = (): void => {
    asking.value = null;
  };
  // Source asks for files of its own.
  const what = ids.length === 0 ? "source files" : ids.length === 1 ? "1 build-id" : `${count(ids.length)} build-ids`;
  return (
    <Dialog title="Fetch from debuginfod" kind="ask-server" onClose={close}>
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault();
          setAutomatic(automatically.value ? "automatic" : "by click");
          allowAndFetch();
        }}
      >
        {served.value === null ? <ServerField /> : null}
        <p>{whoSees(what)}</p>
        {served.value === null && servers.value.length > 0 && <AskedByView />}
        {served.value === null && <AutomaticChoice ticked={automatically} />}
        <p class="button-row end">
          <button type="button" onClick={close}>
            Not now
          </button>
          <button type="submit" class="primary" disabled={servers.value.length === 0}>
            {ids.length === 0 ? "Ask" : `Fetch ${count(ids.length)}`}
          </button>
        </p>
      </form>
    </Dialog>
  );
}

/** Takes effect with the button that says what is sent; where that was pressed before, at once. */
function AutomaticChoice({ ticked }: { ticked: Signal<boolean> }): JSX.Element {
  return (
    <label class="tick">
      <input
        type="checkbox"
        checked={ticked.value}
        onChange={(event) => {
          ticked.value = event.currentTarget.checked;
          if (areAllowed() || !ticked.value) {
            setAutomatic(ticked.value ? "automatic" : "by click");
          }
        }}
      />
      Fetch automatically when opening a profile
    </label>
  );
}

function ServerField(): JSX.Element {
  const field = useRef<HTMLInputElement>(null);
  const named = (url: string): void => {
    addServer(url);
    field.current?.focus();
  };
  return (
    <>
      <label class="field">
        debuginfod server URLs, separated by spaces
        <input
          ref={field}
          type="text"
          inputMode="url"
          spellcheck={false}
          placeholder="https://debuginfod.example.org"
          value={serverField.value}
          onInput={(event) => {
            serverField.value = event.currentTarget.value;
          }}
        />
      </label>
      <Suggested onAdd={named} />
    </>
  );
}

/** The server of the distribution that was recorded, which is asked like any other: once it is in the field, by the button. */
function Suggested({ onAdd }: { onAdd: (url: string) => void }): JSX.Element | null {
  const { text, url } = info.value?.host.debuginfod ?? {};
  const host = readServerUrl(url ?? "")?.host;
  if (host === undefined || servers.value.some((server) => server.host === host)) {
    return null;
  }
  return (
    <p class="button-row">
      <span>{text}</span>
      <button type="button" onClick={() => onAdd(url ?? "")}>
        Add {host}
      </button>
    </p>
  );
}

function AskedByView(): JSX.Element {
  const command = viewCommand(servers.value.map(({ url }) => url).join(" "), recordingName.value);
  return (
    <div>
      <span class="check">
        If a server does not let web pages read its answers, the ledger says so. Then let perftab view ask:
      </span>
      <code class="command">{command}</code>
      <Copy text={command} class="" />
    </div>
  );
}
