// Short messages at the foot of the page. Information goes by itself, and so does the offer to take a step back, which
// stays to be had in the context bar and by a key; an error stays until it is dismissed. Every toast is also spoken through
// the status bar's live region.

import { signal } from "@preact/signals";

export interface Toast {
  id: number;
  tone: "info" | "undo" | "error";
  text: string;
  action?: { label: string; run: () => void };
}

export const toasts = signal<readonly Toast[]>([]);
/** What a screen reader hears next; the number tells it from the same words before. */
export const spoken = signal({ id: 0, text: "" });

export function speak(text: string): void {
  spoken.value = { id: spoken.peek().id + 1, text };
}

const LINGER_MS = 6000;
let lastId = 0;

export function toast(tone: Toast["tone"], text: string, action?: Toast["action"]): void {
  passingToast(tone, text, action);
}

/** A toast that is of no use beyond something else: what it returns takes it away. */
export function passingToast(tone: Toast["tone"], text: string, action?: Toast["action"]): () => void {
  const id = ++lastId;
  // News replaces news: only errors wait for somebody to read them.
  const errors = toasts.value.filter((each) => each.tone === "error");
  toasts.value = [...errors, { id, tone, text, ...(action === undefined ? {} : { action }) }];
  speak(text);
  // What asks for an action stays as long as an error does: a person must have time to find it.
  if (tone === "undo" || (tone === "info" && action === undefined)) {
    setTimeout(() => dismissToast(id), LINGER_MS);
  }
  return () => dismissToast(id);
}

export function dismissToast(id: number): void {
  toasts.value = toasts.value.filter((each) => each.id !== id);
}
