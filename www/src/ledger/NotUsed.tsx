// The files that were given and not used, one reason each.

import type { JSX } from "preact";
import { Dialog } from "../shell/Dialog.tsx";
import { notUsed, notUsedOpen } from "./admit.ts";
import { fullReason } from "./outcome.ts";

export function NotUsed(): JSX.Element | null {
  if (!notUsedOpen.value) {
    return null;
  }
  const close = (): void => {
    notUsedOpen.value = false;
  };
  return (
    <Dialog title="Not used" kind="not-used" onClose={close}>
      <ul class="not-used-list">
        {notUsed.value.map(({ file, reason }, index) => (
          <li key={index}>
            <strong>{file}</strong>
            <span>{fullReason(reason)}</span>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
