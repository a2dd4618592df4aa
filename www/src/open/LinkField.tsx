// A link that was sent, pasted; or the address of a debuginfod, kept for later.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { createRef } from "preact";
import { readServerUrl, serverField } from "../ledger/servers.ts";
import { Icon } from "../shell/icons.tsx";
import { remember } from "../state/storage.ts";
import { passingToast, toast } from "../state/toasts.ts";
import { narrow } from "../state/width.ts";
import { inOneLine, payloadOf, viewOf } from "./failure.ts";
import { openPayload } from "./open.ts";

const text = signal("");
const field = createRef<HTMLInputElement>();

export function focusLinkField(): void {
  field.current?.focus();
}

export function LinkField(): JSX.Element {
  return (
    <form
      class="link-field"
      onSubmit={(event) => {
        event.preventDefault();
        take(text.value);
      }}
    >
      <label class="link-box">
        <Icon name="link" />
        <input
          ref={field}
          type="text"
          spellcheck={false}
          autocomplete="off"
          placeholder={
            narrow.value ? "Paste a link or a debuginfod URL" : "Paste a perftab link (https://…#p1.…) or a debuginfod URL"
          }
          aria-label="perftab link or debuginfod URL"
          value={text.value}
          onPaste={(event) => {
            const pasted = event.clipboardData?.getData("text/plain") ?? "";
            // By itself the field would have spaces where lines end.
            if (pasted.includes("\n") && payloadOf(pasted) !== null) {
              event.preventDefault();
              text.value = inOneLine(pasted);
            }
          }}
          onInput={(event) => {
            text.value = event.currentTarget.value;
          }}
        />
      </label>
      <button type="submit" class="tall" disabled={text.value.trim() === ""}>
        Open link
      </button>
    </form>
  );
}

let dismissRefusal = (): void => {};

function take(pasted: string): void {
  // It was of what was pasted before.
  dismissRefusal();
  const payload = payloadOf(pasted);
  if (payload !== null) {
    text.value = "";
    void openPayload(payload, "link", viewOf(pasted));
    return;
  }
  const url = /^https?:\/\//.test(pasted.trim()) ? readServerUrl(pasted) : null;
  if (url === null) {
    dismissRefusal = passingToast("error", "This is neither a perftab link (which contains #p1.) nor a debuginfod URL.");
    return;
  }
  text.value = "";
  serverField.value = url.href;
  remember("debuginfod", url.href);
  toast("info", `${url.host} is set as your debuginfod server. Nothing was sent.`);
}
