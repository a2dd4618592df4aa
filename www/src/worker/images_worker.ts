// Begins workers for images: of the very script and code that the session's worker has.

import type { BeginImages } from "./images_side.ts";
import type { ImagesRequest } from "./images_protocol.ts";

/** A blob of this worker's own: on a page from file:// the one that the page made is refused to it. */
export function beginnerOf(script: string, module: WebAssembly.Module): BeginImages {
  let address: string | undefined;
  return (table) => {
    address ??= URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
    const worker = new Worker(address);
    worker.postMessage({ type: "start-images", module, table } satisfies ImagesRequest);
    return worker;
  };
}
