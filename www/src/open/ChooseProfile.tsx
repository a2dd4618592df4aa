// Several profiles were dropped together: one is opened.

import type { JSX } from "preact";
import { Dialog } from "../shell/Dialog.tsx";
import { bytes } from "../state/format.ts";
import { choices, openFile } from "./open.ts";

export function ChooseProfile(): JSX.Element | null {
  if (choices.value.length === 0) {
    return null;
  }
  return (
    <Dialog
      title="Open one"
      kind="choose"
      onClose={() => {
        choices.value = [];
      }}
    >
      <ul>
        {choices.value.map((file, index) => (
          <li key={index} class="served-row">
            <strong>{file.name}</strong> <span class="ink-mute">{bytes(file.size)}</span>
            <button type="button" class="push-right" onClick={() => void openFile(file)}>Open</button>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
