// The page's end of the session: one typed, asynchronous method over one worker.
//
// Calls are answered in order; those that wait for a network or a stream let others pass.

import type { CallOptions } from "./caller.ts";
import { Caller } from "./caller.ts";
import type { Args, Method, Protocol, Result } from "./types.ts";

export type { CallOptions, Port } from "./caller.ts";
export { Cancelled, SessionError, WorkerDied } from "./caller.ts";

/** What views need of the session; the fake of the tests and of the development harness is one too. */
export interface Session {
  generation: number;
  /** How many questions there were so far. */
  readonly asked: number;
  /** Resolves when each of them has its answer. */
  answered(): Promise<void>;
  call<M extends Method>(method: M, args: Args<M>, options?: CallOptions): Promise<Result<M>>;
}

export class SessionClient extends Caller<Protocol> implements Session {}
