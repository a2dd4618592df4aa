// A worker whose code may still be on its way: what is posted meanwhile waits.

import type { Port } from "./caller.ts";

/** The little of `Worker` that is used here. */
export interface BegunWorker {
  postMessage(message: unknown, transfer: Transferable[]): void;
  onmessage: ((event: MessageEvent) => void) | null;
  onerror: ((event: ErrorEvent) => void) | null;
  terminate(): void;
}

export class ArrivingWorker implements Port {
  onmessage: ((event: MessageEvent) => void) | null = null;
  onerror: Port["onerror"] = null;
  #worker: BegunWorker | null = null;
  #waiting: { message: unknown; transfer: Transferable[] }[] | null = [];
  #hasEnded = false;

  /** Takes the worker as soon as there is one. Where there will be none, it died. */
  async take(coming: Promise<BegunWorker>): Promise<void> {
    try {
      const worker = await coming;
      if (this.#hasEnded) {
        worker.terminate();
        return;
      }
      worker.onmessage = (event) => this.onmessage?.(event);
      worker.onerror = (event) => this.onerror?.(event);
      this.#worker = worker;
      for (const { message, transfer } of this.#waiting ?? []) {
        worker.postMessage(message, transfer);
      }
      this.#waiting = null;
    } catch (error) {
      this.onerror?.(new ErrorEvent("error", { message: error instanceof Error ? error.message : String(error) }));
    }
  }

  postMessage(message: unknown, transfer: Transferable[]): void {
    if (this.#waiting !== null) {
      this.#waiting.push({ message, transfer });
    } else {
      this.#worker?.postMessage(message, transfer);
    }
  }

  terminate(): void {
    this.#hasEnded = true;
    this.#worker?.terminate();
  }
}
