// A session over the page's worker, whose code may still be on its way.

import { ArrivingWorker } from "./arriving_worker.ts";
import { SessionClient } from "./client.ts";
import type { OwnWorker } from "./own_worker.ts";
import { carriedWasm, ownWorker } from "./own_worker.ts";
import { packedScript } from "./packed_script.ts";
import type { CarriedImages, Request } from "./types.ts";

/** A session that takes calls at once, and answers them when its code has arrived. */
export function startSession(onDeath: (message: string) => void): SessionClient {
  const port = new ArrivingWorker();
  const client = new SessionClient(port, onDeath);
  void port.take(told(port));
  return client;
}

/** The worker, when it has been told to start. */
async function told(port: ArrivingWorker): Promise<Worker> {
  const own = ownWorker();
  if (own === undefined) {
    throw new Error("this browser makes no worker");
  }
  const hear = (event: OwnWorker["said"][number]): void => {
    // One for a script that could not be loaded is no ErrorEvent.
    if (event.type === "error") {
      port.onerror?.(event as ErrorEvent);
    } else {
      port.onmessage?.(event as MessageEvent);
    }
  };
  own.worker.onmessage = own.worker.onerror = hear;
  own.said.forEach(hear);
  await own.told;
  void lendImages(own);
  return own.worker;
}

/** What the worker of the images is made of stands at the end of the page, since nobody needs it before a file comes. */
async function lendImages({ worker, token }: OwnWorker): Promise<void> {
  const carried = async (): Promise<CarriedImages> => {
    const [script, wasm] = await Promise.all([packedScript("images-script"), carriedWasm("images", token)]);
    return { script, wasm };
  };
  const images = await carried().catch((error: Error) => error.message);
  worker.postMessage({ type: "images", images } satisfies Request);
}
