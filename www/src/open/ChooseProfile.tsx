// Several profiles were dropped together: one is opened.

import type { JSX } from "preact";
import { Dialog } from "../shell/Dialog.tsx";
import { bytes } from "../state/format.ts";
import { sizeOf } from "./given.ts";
import { choices, openRecording } from "./open.ts";

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
        {choices.value.map((recording, index) => (
          <li key={index} class="served-row">
            <strong>{recording.name}</strong> <span class="ink-mute">{bytes(sizeOf(recording))}</span>
            <button type="button" class="push-right" onClick={() => void openRecording(recording)}>Open</button>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
