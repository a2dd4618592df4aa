// The session's worker, made of what the page carries: its script was unpacked with the page's (boot.ts), and the wasm is a
// data block of this very document.
//
// A classic worker from a Blob, because that is what starts on a page opened from file:// (a module worker does not). A browser
// begins it only while the main thread rests. So it is begun before the page's own script runs, which takes as long as to
// unpack the wasm, and that waits until the worker runs: then both go on side by side.

import { dataBlock } from "./data_block.ts";
import { servedPart } from "./served_part.ts";
import type { CarriedWasm, Reply, Request } from "./types.ts";

/** It runs after some 20 ms; what a browser does with it must not keep the page from being drawn. */
const LATEST_MS = 200;

/** A worker that was begun, and what it said before somebody listened. */
export interface OwnWorker {
  worker: Worker;
  said: (MessageEvent<Reply> | ErrorEvent)[];
  /** Resolves when it was told to start, and with what. Rejects where the page is not whole. */
  told: Promise<void>;
  /** With which workers find WebAssembly unpacked; null where the page has to unpack it. */
  token: string | null;
}

/** From the script that unpacks the page to the page's own. */
const kept = globalThis as { perftabWorker?: OwnWorker };

/** Begins it. Resolves once it runs, or seems not to. */
export async function beginWorker(script: string, token: string | null): Promise<void> {
  const source = new Blob([script], { type: "text/javascript" });
  const worker = new Worker(URL.createObjectURL(source));
  const said: OwnWorker["said"] = [];
  const tell = async (): Promise<void> => {
    worker.postMessage({ type: "start", wasm: await carriedWasm("wasm", token) } satisfies Request);
  };
  const told = tell();
  // Whoever takes the worker is told.
  told.catch(() => {});
  kept.perftabWorker = { worker, said, told, token };
  await new Promise<void>((runs) => {
    setTimeout(runs, LATEST_MS);
    worker.onmessage = worker.onerror = (event: MessageEvent<Reply> | ErrorEvent) => {
      said.push(event);
      runs();
    };
  });
}

/** WebAssembly of this page, for a worker. */
export async function carriedWasm(name: "wasm" | "images", token: string | null): Promise<CarriedWasm> {
  return token === null ? { packed: await dataBlock(name) } : { served: servedPart(name, token) };
}

/** The worker that was begun; undefined where the browser makes none. */
export function ownWorker(): OwnWorker | undefined {
  return kept.perftabWorker;
}
