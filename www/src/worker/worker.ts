// The worker: owns the WebAssembly session and answers the page, one message a call.
//
// Calls wait in a queue that is emptied after the messages that have arrived, so that a cancel reaches a call before its
// turn. A call that waits (a stream, a network) lets the next one run. What is thrown and is no SessionFailure is a
// bug: the session cannot be trusted after it, and the page is told that it died.

import type { Progress, Reply, Request, SessionFailure } from "../session/types.ts";
import { asksByCallNode, Calls } from "./calls.ts";
import { Precedence } from "./precedence.ts";
import { CancelledCall, nextTask, Slices } from "./slices.ts";
import type { Memory } from "./wasm.ts";
import { startWasm } from "./wasm.ts";

type Call = Extract<Request, { type: "call" }>;

const queue: Call[] = [];
const running = new Map<number, AbortController>();
const precedence = new Precedence();
let isEmptying = false;
let started: Promise<Calls> | null = null;
let memory: Memory | null = null;

self.onmessage = ({ data }: MessageEvent<Request>): void => {
  switch (data.type) {
    case "start":
      started = start(data.wasm);
      started.catch((error) => send({ id: 0, error: failureOf(error) }));
      break;
    case "call":
      queue.push(data);
      void empty();
      break;
    case "cancel": {
      const waiting = queue.findIndex((call) => call.id === data.id);
      if (waiting >= 0) {
        queue.splice(waiting, 1);
      }
      running.get(data.id)?.abort();
      break;
    }
  }
};

async function start(wasm: string): Promise<Calls> {
  memory = await startWasm(wasm);
  return new Calls(memory);
}

async function empty(): Promise<void> {
  if (isEmptying) {
    return;
  }
  isEmptying = true;
  for (;;) {
    await nextTask();
    const call = queue.shift();
    if (call === undefined) {
      break;
    }
    void answer(call);
  }
  isEmptying = false;
}

async function answer({ id, method, args, generation }: Call): Promise<void> {
  const abort = new AbortController();
  running.set(id, abort);
  try {
    const calls = await started;
    if (calls === null) {
      return;
    }
    if (asksByCallNode(method, args) && generation !== calls.generation) {
      send({ id, error: { kind: "stale", message: "names have changed since" } });
      return;
    }
    const report = (progress: Progress): void => send({ id, progress });
    const handler = calls.handlers[method] as (args: unknown, context: { slices: Slices }) => unknown;
    const ok = await precedence.answer(method, async (beside) => {
      const slices = new Slices(abort.signal, report, beside);
      slices.check();
      return await handler(args, { slices });
    });
    if (asksByCallNode(method, args) && generation !== calls.generation) {
      send({ id, error: { kind: "stale", message: "names have changed meanwhile" } });
      return;
    }
    send({ id, ok }, buffersOf(ok));
  } catch (error) {
    send({ id, error: failureOf(error) });
  } finally {
    running.delete(id);
  }
}

/** The columns of an answer, or of its parts, which move instead of being copied. */
function buffersOf(answer: unknown): Transferable[] {
  const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;
  const columnsOf = (part: object): Transferable[] =>
    Object.values(part).flatMap((value) => (ArrayBuffer.isView(value) ? [value.buffer as ArrayBuffer] : []));
  if (!isObject(answer)) {
    return [];
  }
  const parts = Object.values(answer).filter((part) => isObject(part) && !Array.isArray(part) && !ArrayBuffer.isView(part));
  return [answer, ...parts].flatMap(columnsOf);
}

function send(reply: Reply, transfer: Transferable[] = []): void {
  self.postMessage(reply, { transfer });
}

function failureOf(error: unknown): SessionFailure {
  if (error instanceof CancelledCall || (error instanceof DOMException && error.name === "AbortError")) {
    return { kind: "cancelled", message: "cancelled" };
  }
  if (isFailure(error)) {
    return error;
  }
  const { perftabPanic } = self as { perftabPanic?: string };
  const megabytes = Math.round((memory?.buffer.byteLength ?? 0) / 1e6);
  const words = [String(error), perftabPanic ?? "", `the session held ${megabytes} MB`];
  return { kind: "died", message: words.filter((each) => each !== "").join("\n") };
}

function isFailure(error: unknown): error is SessionFailure {
  return typeof error === "object" && error !== null && !(error instanceof Error) && "kind" in error && "message" in error;
}
