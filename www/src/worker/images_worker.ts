// The worker that has the images of a profile, and answers the session's worker.

import init, { Images } from "../generated/perftab_images_web.js";
import type { Answer } from "./desk.ts";
import { Desk } from "./desk.ts";
import { ImagesCalls } from "./images_calls.ts";
import type { ImagesRequest, Told } from "./images_protocol.ts";
import { Slices } from "./slices.ts";
import type { Memory } from "./wasm.ts";
import { startWasm } from "./wasm.ts";

let memory: Memory | null = null;
let desk: Desk | null = null;

self.onmessage = ({ data }: MessageEvent<ImagesRequest>): void => {
  switch (data.type) {
    case "start-images":
      desk = Desk.begin(start(data), () => memory?.buffer.byteLength ?? 0);
      break;
    case "call":
      desk?.take(data);
      break;
    case "cancel":
      desk?.cancel(data.id);
      break;
  }
};

async function start({ wasm, table }: Extract<ImagesRequest, { type: "start-images" }>): Promise<Answer> {
  const own = await startWasm(wasm, init);
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
