// Starts the worker from what the page carries: its source was unpacked with the page's script, and the wasm is a data block
// of this very document.
//
// A classic worker from a Blob, because that is what starts on a page opened from file:// (a module worker does not).

import type { Port } from "./client.ts";
import { SessionClient } from "./client.ts";
import { dataBlock } from "./data_block.ts";
import type { Reply, Request } from "./types.ts";
import { workerSource } from "./worker_source.ts";

/** A session that takes calls at once, and answers them when its code has arrived. */
export function startSession(onDeath: (message: string) => void): SessionClient {
  const port = new ArrivingWorker();
  const client = new SessionClient(port, onDeath);
  void port.start();
  return client;
}

/** A worker whose code may still be on its way. What is posted meanwhile waits. */
class ArrivingWorker implements Port {
  onmessage: ((event: MessageEvent<Reply>) => void) | null = null;
  onerror: ((event: ErrorEvent) => void) | null = null;
  #worker: Worker | null = null;
  #waiting: Request[] | null = [];

  async start(): Promise<void> {
    try {
      const script = workerSource();
      const source = new Blob([script], { type: "text/javascript" });
      const worker = new Worker(URL.createObjectURL(source));
      worker.onmessage = (event) => this.onmessage?.(event);
      worker.onerror = (event) => this.onerror?.(event);
      this.#worker = worker;
      // A packed module in base64.
      worker.postMessage({ type: "start", script, wasm: await dataBlock("wasm") } satisfies Request);
      for (const message of this.#waiting ?? []) {
        worker.postMessage(message);
      }
      this.#waiting = null;
    } catch (error) {
      this.onerror?.(new ErrorEvent("error", { message: error instanceof Error ? error.message : String(error) }));
    }
  }

  postMessage(message: Request): void {
    if (this.#waiting !== null) {
      this.#waiting.push(message);
    } else {
      this.#worker?.postMessage(message);
    }
  }

  terminate(): void {
    this.#worker?.terminate();
  }
}
