// The session's worker, which answers the page.

import init from "../generated/perftab_web.js";
import type { CarriedImages, CarriedWasm, Method, Reply, Request } from "../session/types.ts";
import { beginnerOf } from "./begin_images.ts";
import { Calls } from "./calls.ts";
import type { Answer } from "./desk.ts";
import { Desk } from "./desk.ts";
import type { Gate } from "./precedence.ts";
import { OPENING, Precedence } from "./precedence.ts";
import { Slices } from "./slices.ts";
import { answersByCallNode, asksByCallNode } from "./stale.ts";
import type { Memory } from "./wasm.ts";
import { startWasm } from "./wasm.ts";

let memory: Memory | null = null;
let desk: Desk | null = null;
let takeImages: (lent: Request & { type: "images" }) => void;
const images = new Promise<CarriedImages>((resolve, reject) => {
  takeImages = ({ images }) => (typeof images === "string" ? reject(new Error(images)) : resolve(images));
});
// Whoever begins a worker of them is told.
images.catch(() => {});

self.onmessage = ({ data }: MessageEvent<Request>): void => {
  switch (data.type) {
    case "start":
      desk = Desk.begin(start(data.wasm), () => memory?.buffer.byteLength ?? 0);
      break;
    case "images":
      takeImages(data);
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

async function start(wasm: CarriedWasm): Promise<Answer> {
  const own = await startWasm(wasm, init);
  memory = own;
  const calls = new Calls(own, beginnerOf(images));
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
