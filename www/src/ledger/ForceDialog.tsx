// Between the wish to use a file that is not the one that ran, and its use: what that means, and the DSO's name to type.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { Dialog } from "../shell/Dialog.tsx";
import { confirming, force } from "./forced.ts";

export function ForceDialog(): JSX.Element | null {
  return confirming.value === null ? null : <Confirm {...confirming.value} />;
}

function Confirm({ row, file }: NonNullable<typeof confirming.value>): JSX.Element {
  const typed = useSignal("");
  const isTyped = typed.value.trim() === row.name.trim();
  const close = (): void => {
    confirming.value = null;
  };
  return (
    <Dialog title="Use this file anyway (unsafe)" kind="ask-server" onClose={close}>
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault();
          if (isTyped) {
            close();
            void force(row, file);
          }
        }}
      >
        <p>
          {row.build_id === null ? (
            <>
              Nothing shows that <strong>{file.name}</strong> is the {row.name} that ran.
            </>
          ) : (
            <>
              <strong>{file.name}</strong> is not the {row.name} that ran.
            </>
          )}{" "}
          Every name from it is marked <span class="forced-mark">≠</span> here, in exports and in links. Most will be wrong.
        </p>
        <label class="field">
          <span>
            Type <strong>{row.name}</strong> to confirm
          </span>
          <input
            type="text"
            autofocus
            autocomplete="off"
            autocapitalize="off"
            spellcheck={false}
            value={typed.value}
            onInput={(event) => {
              typed.value = event.currentTarget.value;
            }}
          />
        </label>
        <p class="button-row end">
          <button type="button" onClick={close}>
            Cancel
          </button>
          <button type="submit" class="guru" disabled={!isTyped}>
            Force
          </button>
        </p>
      </form>
    </Dialog>
  );
}
