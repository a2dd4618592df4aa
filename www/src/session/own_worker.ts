// The session's worker, made of what the page carries: its script was unpacked with the page's (boot.ts), and the wasm is a
// data block of this very document.
//
// A classic worker from a Blob, because that is what starts on a page opened from file:// (a module worker does not). A browser
// begins it only while the main thread rests. So it is begun before the page's own script runs, which takes as long as to
// unpack the wasm, and that waits until the worker runs: then both go on side by side.

import { dataBlock } from "./data_block.ts";
import type { Reply, Request } from "./types.ts";

/** It runs after some 20 ms; what a browser does with it must not keep the page from being drawn. */
const LATEST_MS = 200;

/** A worker that was begun, and what it said before somebody listened. */
export interface OwnWorker {
  worker: Worker;
  said: (MessageEvent<Reply> | ErrorEvent)[];
  /** Resolves when it was told to start, and with what. Rejects where the page is not whole. */
  told: Promise<void>;
}

/** From the script that unpacks the page to the page's own. */
const kept = globalThis as { perftabWorker?: OwnWorker };

/** Begins it; `served` is where it finds its wasm unpacked. Resolves once it runs, or seems not to. */
export async function beginWorker(script: string, served: string | null): Promise<void> {
  const source = new Blob([script], { type: "text/javascript" });
  const worker = new Worker(URL.createObjectURL(source));
  const said: OwnWorker["said"] = [];
  const tell = async (): Promise<void> => {
    const wasm = served === null ? { packed: await dataBlock("wasm") } : { served };
    worker.postMessage({ type: "start", script, wasm } satisfies Request);
  };
  const told = tell();
  // Whoever takes the worker is told.
  told.catch(() => {});
  kept.perftabWorker = { worker, said, told };
  await new Promise<void>((runs) => {
    setTimeout(runs, LATEST_MS);
    worker.onmessage = worker.onerror = (event: MessageEvent<Reply> | ErrorEvent) => {
      said.push(event);
      runs();
    };
  });
}

/** The worker that was begun; undefined where the browser makes none. */
export function ownWorker(): OwnWorker | undefined {
  return kept.perftabWorker;
}
