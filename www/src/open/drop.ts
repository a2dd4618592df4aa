// Drops, and links that are pasted, anywhere in the window, at any time.

import { signal } from "@preact/signals";
import { payloadOf, viewOf } from "./failure.ts";
import { openPayload, takeFiles } from "./open.ts";
import { toast } from "../state/toasts.ts";
import { filesOf } from "./dropped.ts";

/** Whether files hover over the window. */
export const dragging = signal(false);

/** Starts listening. Call once. */
export function followDrops(): void {
  // Every element that the pointer enters and leaves sends both events: only the count tells leaving the window.
  let depth = 0;
  const settle = (next: number): void => {
    depth = Math.max(0, next);
    dragging.value = depth > 0;
  };
  window.addEventListener("dragenter", (event) => {
    if (hasFiles(event)) {
      event.preventDefault();
      settle(depth + 1);
    }
  });
  window.addEventListener("dragleave", () => settle(depth - 1));
  window.addEventListener("dragover", (event) => {
    if (hasFiles(event)) {
      event.preventDefault();
    }
  });
  window.addEventListener("drop", (event) => {
    settle(0);
    if (event.dataTransfer !== null && hasFiles(event)) {
      event.preventDefault();
      void filesOf(event.dataTransfer).then(takeFiles, () => {
        toast("error", "The browser did not let this page read the folder. Choose the folder instead, or drag in its files.");
      });
    }
  });
}

/** Starts listening. A field that has the focus gets what is pasted, as everywhere. Call once. */
export function followPastes(): void {
  window.addEventListener("paste", (event) => {
    const isField = event.target instanceof HTMLInputElement || event.target instanceof HTMLTextAreaElement;
    const pasted = event.clipboardData?.getData("text/plain") ?? "";
    const payload = isField ? null : payloadOf(pasted);
    if (payload !== null) {
      event.preventDefault();
      void openPayload(payload, "link", viewOf(pasted));
    }
  });
}

function hasFiles(event: DragEvent): boolean {
  return event.dataTransfer?.types.includes("Files") ?? false;
}
