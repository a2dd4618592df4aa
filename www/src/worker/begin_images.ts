// Begins workers for images, of what the page lends the session's worker.

import { ArrivingWorker } from "../session/arriving_worker.ts";
import type { CarriedImages } from "../session/types.ts";
import type { ImagesRequest } from "./images_protocol.ts";
import type { BeginImages } from "./images_side.ts";

/** `lent` comes when the page has all of it. */
export function beginnerOf(lent: Promise<CarriedImages>): BeginImages {
  let address: string | undefined;
  return (table) => {
    const begun = async (): Promise<Worker> => {
      const { script, wasm } = await lent;
      // An address of this worker's own: on a page from file:// one that the page made is refused to it.
      address ??= URL.createObjectURL(script);
      const worker = new Worker(address);
      worker.postMessage({ type: "start-images", wasm, table } satisfies ImagesRequest);
      return worker;
    };
    const worker = new ArrivingWorker();
    void worker.take(begun());
    return worker;
  };
}
