// Copies a text, and says that it did.

import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { speak, toast } from "../state/toasts.ts";

interface CopyProps {
  text: string;
  label?: ComponentChildren;
  class?: string;
  disabled?: boolean;
}

const SAID_MS = 1500;

export function Copy({ text, label = "Copy", class: kind = "quiet", disabled = false }: CopyProps): JSX.Element {
  const [done, setDone] = useState(false);
  const copy = async (): Promise<void> => {
    if (await writeClipboard(text)) {
      setDone(true);
      setTimeout(() => setDone(false), SAID_MS);
    }
  };
  return (
    <button type="button" class={kind} disabled={disabled} onClick={() => void copy()}>
      {done ? "Copied" : label}
    </button>
  );
}

/** Copies, and says whether it did. */
export async function writeClipboard(text: string): Promise<boolean> {
  const done = await copyText(text);
  if (done) {
    speak("Copied");
  } else {
    toast("error", "The browser did not allow copying. Select the text and copy it.");
  }
  return done;
}

async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

/** Where the clipboard API is refused (an http page of another host), the old way still works. */
function copyBySelection(text: string): boolean {
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "visually-hidden";
  // Inside an open dialog, since the rest of the page is inert then.
  (document.querySelector("dialog[open]") ?? document.body).append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  return done;
}
