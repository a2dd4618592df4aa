// The files that were given and not used, one reason each.

import type { JSX } from "preact";
import { Dialog } from "../shell/Dialog.tsx";
import { useGradual } from "../shell/gradual.tsx";
import { notUsed, notUsedOpen } from "./admit.ts";
import { count } from "../state/format.ts";
import { byInterest, fullReason } from "./outcome.ts";

/** Of a folder with thousands of files nobody reads the rest. */
const MOST_LISTED = 200;

export function NotUsed(): JSX.Element | null {
  return notUsedOpen.value ? <List /> : null;
}

function List(): JSX.Element {
  const listed = byInterest(notUsed.value).slice(0, MOST_LISTED);
  const shown = listed.slice(0, useGradual(listed.length));
  const rest = notUsed.value.length - listed.length;
  const close = (): void => {
    notUsedOpen.value = false;
  };
  return (
    <Dialog title="Not used" kind="not-used" onClose={close}>
      <ul class="not-used-list">
        {shown.map((refused, index) => (
          <li key={index}>
            <strong>{refused.name}</strong>
            <span>{fullReason(refused)}</span>
          </li>
        ))}
        {rest > 0 && <li>{count(rest)} more are not listed.</li>}
      </ul>
    </Dialog>
  );
}
