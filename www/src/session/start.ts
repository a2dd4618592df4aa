// Starts the worker from what the page carries: its source and the wasm are data blocks of this very document.
//
// A classic worker from a Blob, because that is what starts on a page opened from file:// (a module worker does not).

import type { Port } from "./client.ts";
import { SessionClient } from "./client.ts";

/** The text of a data block of the page, null where the page has none. */
export function dataBlock(id: string): string | null {
  const text = document.getElementById(id)?.textContent?.trim() ?? "";
  return text === "" ? null : text;
}

export function startSession(onDeath: (message: string) => void): SessionClient {
  const source = new Blob([dataBlock("worker") ?? ""], { type: "text/javascript" });
  const address = URL.createObjectURL(source);
  const client = new SessionClient(new Worker(address) as Port, onDeath);
  client.start(dataBlock("wasm") ?? "");
  return client;
}
