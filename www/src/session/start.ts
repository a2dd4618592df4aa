// A session over the page's worker, whose code may still be on its way.

import type { Port } from "./client.ts";
import { SessionClient } from "./client.ts";
import { ownWorker } from "./own_worker.ts";
import type { Reply, Request } from "./types.ts";

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
      const own = ownWorker();
      if (own === undefined) {
        throw new Error("this browser makes no worker");
      }
      const { worker, said, told } = own;
      worker.onmessage = (event) => this.onmessage?.(event);
      worker.onerror = (event) => this.onerror?.(event);
      this.#worker = worker;
      for (const event of said) {
        // One for a script that could not be loaded is no ErrorEvent.
        if (event.type === "error") {
          this.onerror?.(event as ErrorEvent);
        } else {
          this.onmessage?.(event as MessageEvent<Reply>);
        }
      }
      await told;
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
