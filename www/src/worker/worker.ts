// A worker of the page. Its first message says which: one that owns the session and answers the page, or one that has the
// images of a profile and answers the first one.

import { Images } from "../generated/perftab_web.js";
import type { CarriedWasm, Method, Reply, Request } from "../session/types.ts";
import { Calls } from "./calls.ts";
import type { Answer } from "./desk.ts";
import { Desk } from "./desk.ts";
import { ImagesCalls } from "./images_calls.ts";
import type { ImagesRequest, Told } from "./images_protocol.ts";
import { beginnerOf } from "./images_worker.ts";
import type { Gate } from "./precedence.ts";
import { OPENING, Precedence } from "./precedence.ts";
import { Slices } from "./slices.ts";
import { answersByCallNode, asksByCallNode } from "./stale.ts";
import type { Memory } from "./wasm.ts";
import { compile, startWasm } from "./wasm.ts";

let memory: Memory | null = null;
let desk: Desk | null = null;

self.onmessage = ({ data }: MessageEvent<Request | ImagesRequest>): void => {
  switch (data.type) {
    case "start":
      begin(startSession(data.wasm, data.script));
      break;
    case "start-images":
      begin(startImages(data.module, data.table));
      break;
    case "call":
      desk?.take(data);
      break;
    case "cancel":
      desk?.cancel(data.id);
      break;
  }
};

// It runs, which the page waits for; this answers no call.
self.postMessage({ id: 0, ok: null } satisfies Reply);

/** Calls are taken from now on, and answered once it has begun. */
function begin(started: Promise<Answer>): void {
  const held = (): number => memory?.buffer.byteLength ?? 0;
  const opened = new Desk(async (call, signal, report) => (await started)(call, signal, report), held);
  desk = opened;
  started.catch((error) => opened.fail(error));
}

async function startSession(wasm: CarriedWasm, script: string): Promise<Answer> {
  const module = await compile(wasm);
  memory = await startWasm(module);
  const calls = new Calls(memory, beginnerOf(script, module));
  const precedence = new Precedence();
  return async ({ method: called, args, generation }, signal, report) => {
    const method = called as Method;
    const isStale = (): boolean => asksByCallNode(args) && generation !== calls.generation;
    if (isStale()) {
      throw { kind: "stale", message: "names have changed since" };
    }
    if (generation === calls.generation) {
      calls.knowsPresent();
    }
    const work = async (beside: Gate | null): Promise<unknown> => {
      const slices = new Slices(signal, report, beside);
      slices.check();
      return await calls.answer(method, args, { slices, generation });
    };
    const answer = await precedence.answer(method, work, signal);
    if (isStale() || (answersByCallNode(method) && generation !== calls.generation)) {
      throw { kind: "stale", message: "names have changed meanwhile" };
    }
    if (OPENING.has(method)) {
      precedence.whileUnseen(() => calls.prepareFirst()).catch((error) => desk?.fail(error));
    }
    return answer;
  };
}

async function startImages(module: WebAssembly.Module, table: ConstructorParameters<typeof Images>[0]): Promise<Answer> {
  const own = await startWasm(module);
  memory = own;
  const images = new Images(table);
  let told = 0;
  const tell = (): void => {
    const [findings, bytes] = [images.takeFindings(), own.buffer.byteLength];
    if (findings !== null || bytes !== told) {
      told = bytes;
      self.postMessage({ findings, bytes } satisfies Told);
    }
  };
  const calls = new ImagesCalls(images, tell);
  return async ({ method, args }, signal, report) => {
    const slices = new Slices(signal, report);
    slices.check();
    const handler = calls.handlers[method as keyof ImagesCalls["handlers"]] as (args: unknown, slices: Slices) => unknown;
    const answer = await handler(args, slices);
    tell();
    return answer;
  };
}
