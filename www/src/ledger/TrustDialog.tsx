// Between the wish to take names from the files at the recorded paths of this machine, and doing it: what that means.

import type { JSX } from "preact";
import { Dialog } from "../shell/Dialog.tsx";
import { askingToTrust, trustPaths } from "./trusted.ts";

export function TrustDialog(): JSX.Element | null {
  if (!askingToTrust.value) {
    return null;
  }
  const close = (): void => {
    askingToTrust.value = false;
  };
  return (
    <Dialog title="Use this machine’s files by path (unsafe)" kind="ask-server" onClose={close}>
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault();
          close();
          void trustPaths();
        }}
      >
        <p>
          Code without a build-id takes its names from the file that is at its path now. A file is not used if the recording is of
          another machine, or if its inode, size or times show that it is not the one that ran. Nothing proves that the others
          are.
        </p>
        <p>
          Every name is marked <span class="forced-mark">≠</span> here, in exports and in links.
        </p>
        <p class="button-row end">
          <button type="button" autofocus onClick={close}>
            Cancel
          </button>
          <button type="submit" class="guru">
            Use these files
          </button>
        </p>
      </form>
    </Dialog>
  );
}
