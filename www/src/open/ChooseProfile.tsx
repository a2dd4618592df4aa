// Several profiles were dropped together: one is opened, or two are compared.

import type { JSX } from "preact";
import { Dialog } from "../shell/Dialog.tsx";
import { bytes } from "../state/format.ts";
import { sizeOf } from "./given.ts";
import type { Recording } from "./given.ts";
import { choices, openRecording } from "./open.ts";
import { compareWithRecording } from "../compare/second.ts";
import { phase } from "../state/app.ts";

/** The first as any profile, the other beside it. */
async function openBoth(first: Recording, other: Recording): Promise<void> {
  await openRecording(first);
  if (phase.peek().kind === "open") {
    await compareWithRecording(other);
  }
}

export function ChooseProfile(): JSX.Element | null {
  if (choices.value.length === 0) {
    return null;
  }
  const [first, other, ...more] = choices.value;
  const isPair = first !== undefined && other !== undefined && more.length === 0;
  return (
    <Dialog
      title={isPair ? "Two profiles" : "Choose a profile"}
      kind="choose"
      onClose={() => {
        choices.value = [];
      }}
    >
      {isPair && (
        <p class="choose-pair">
          <button type="button" class="primary" autofocus onClick={() => void openBoth(first, other)}>
            Open both to compare
          </button>
          <span class="ink-mute">
            {first.name} is before, {other.name} is after.
          </span>
        </p>
      )}
      <ul>
        {choices.value.map((recording, index) => (
          <li key={index} class="served-row">
            <strong>{recording.name}</strong> <span class="ink-mute">{bytes(sizeOf(recording))}</span>
            <button type="button" class="push-right" onClick={() => void openRecording(recording)}>
              Open
            </button>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
