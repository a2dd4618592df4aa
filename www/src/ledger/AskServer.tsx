// Before the first question to a debuginfod: who is asked, in which order, and what they will see.

import type { JSX } from "preact";
import { Dialog } from "../shell/Dialog.tsx";
import { count } from "../state/format.ts";
import { allowAndFetch, asking } from "./debuginfod.ts";
import { serverField, servers, whoSees } from "./servers.ts";
import { served } from "../open/served.ts";

export function AskServer(): JSX.Element | null {
  const ids = asking.value;
  if (ids === null) {
    return null;
  }
  const close = (): void => {
    asking.value = null;
  };
  const what = ids.length === 1 ? "1 build-id" : `${count(ids.length)} build-ids`;
  return (
    <Dialog title="Fetch from debuginfod" kind="ask-server" onClose={close}>
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault();
          allowAndFetch();
        }}
      >
        {served.value === null ? <ServerField /> : null}
        <p>{whoSees(what)}</p>
        <p class="button-row end">
          <button type="button" onClick={close}>Not now</button>
          <button type="submit" class="primary" disabled={servers.value.length === 0 || ids.length === 0}>Fetch {count(ids.length)}</button>
        </p>
      </form>
    </Dialog>
  );
}

function ServerField(): JSX.Element {
  return (
    <label class="field">
      Addresses of debuginfod servers, with spaces between them
      <input
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
  );
}
