// Calls of a worker, by the methods that it has: the end that asks. `worker/desk.ts` is the one that answers.
//
// A call that is cancelled before its turn is never run; one that is running stops at its next slice. Both reject with
// `Cancelled`, so a caller that replaced its own question can ignore the answer to the old one. If the worker dies, every
// pending and every later call rejects with `WorkerDied`.

import type { Call, Progress, Reply, SessionFailure } from "./types.ts";

export class SessionError extends Error {
  readonly failure: SessionFailure;
  constructor(failure: SessionFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

export class Cancelled extends Error {}

export class WorkerDied extends Error {}

export interface CallOptions {
  signal?: AbortSignal;
  onProgress?: (progress: Progress) => void;
}

interface Pending {
  resolve: (value: never) => void;
  reject: (reason: Error) => void;
  onProgress: ((progress: Progress) => void) | undefined;
  release: () => void;
}

/** The little of `Worker` that is used here. */
export interface Port {
  postMessage(message: Call | { type: "cancel"; id: number }, transfer: Transferable[]): void;
  onmessage: ((event: MessageEvent<Reply>) => void) | null;
  onerror: ((event: ErrorEvent) => void) | null;
  terminate(): void;
}

/** Method by method: what goes in and what comes back. */
type Methods = { [method: string]: { args: unknown; result: unknown } };

export class Caller<P extends { [M in keyof P]: Methods[string] }> {
  readonly #port: Port;
  readonly #pending = new Map<number, Pending>();
  readonly #onDeath: (message: string) => void;
  /** The generation of names whose call nodes the caller knows. */
  generation = 0;
  #lastId = 0;
  #awaiting: (() => void)[] = [];
  #death: string | null = null;

  constructor(port: Port, onDeath: (message: string) => void) {
    this.#port = port;
    this.#onDeath = onDeath;
    port.onmessage = (event) => this.#receive(event.data);
    port.onerror = (event) => this.#die(event.message || "the worker stopped");
  }

  get asked(): number {
    return this.#lastId;
  }

  answered(): Promise<void> {
    return this.#pending.size === 0 ? Promise.resolve() : new Promise((done) => this.#awaiting.push(done));
  }

  /** What is to `transfer` of the arguments moves instead of being copied. */
  call<M extends keyof P & string>(
    method: M,
    args: P[M]["args"],
    options: CallOptions = {},
    transfer: Transferable[] = [],
  ): Promise<P[M]["result"]> {
    if (this.#death !== null) {
      return Promise.reject(new WorkerDied(this.#death));
    }
    if (options.signal?.aborted) {
      return Promise.reject(new Cancelled());
    }
    const id = ++this.#lastId;
    return new Promise<P[M]["result"]>((resolve, reject) => {
      const cancel = (): void => {
        this.#port.postMessage({ type: "cancel", id }, []);
        this.#take(id)?.reject(new Cancelled());
      };
      options.signal?.addEventListener("abort", cancel, { once: true });
      this.#pending.set(id, {
        resolve,
        reject,
        onProgress: options.onProgress,
        release: () => options.signal?.removeEventListener("abort", cancel),
      });
      this.#port.postMessage({ type: "call", id, method, args, generation: this.generation }, transfer);
    });
  }

  /** Ends the worker: nobody wants its answers any more. */
  end(): void {
    this.#port.onmessage = null;
    this.#port.onerror = null;
    this.#port.terminate();
    this.#death = "it was ended";
    for (const id of [...this.#pending.keys()]) {
      this.#take(id)?.reject(new Cancelled());
    }
  }

  #receive(reply: Reply): void {
    if ("progress" in reply) {
      this.#pending.get(reply.id)?.onProgress?.(reply.progress);
    } else if ("error" in reply) {
      if (reply.error.kind === "died") {
        this.#die(reply.error.message);
      } else if (reply.error.kind === "cancelled" || reply.error.kind === "stale") {
        this.#take(reply.id)?.reject(new Cancelled());
      } else {
        this.#take(reply.id)?.reject(new SessionError(reply.error));
      }
    } else {
      this.#take(reply.id)?.resolve(reply.ok as never);
    }
  }

  #take(id: number): Pending | undefined {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    pending?.release();
    if (this.#pending.size === 0) {
      for (const done of this.#awaiting.splice(0)) {
        done();
      }
    }
    return pending;
  }

  #die(message: string): void {
    if (this.#death !== null) {
      return;
    }
    this.#death = message;
    this.#port.terminate();
    for (const id of [...this.#pending.keys()]) {
      this.#take(id)?.reject(new WorkerDied(message));
    }
    this.#onDeath(message);
  }
}
