// WebAssembly of a worker, from what the page carries or was sent.

import { decodeBase64 } from "../session/base64.ts";
import type { CarriedWasm } from "../session/types.ts";
import { unpackWasm } from "./packed_wasm.ts";

/** How a module is started, and the memory that it has then. */
type Init = (code: { module_or_path: WebAssembly.Module }) => Promise<{ memory: WebAssembly.Memory }>;

/** Memory of this worker's WebAssembly, for its size. */
export type Memory = Pick<WebAssembly.Memory, "buffer">;

export async function startWasm(wasm: CarriedWasm, init: Init): Promise<Memory> {
  const module =
    "packed" in wasm
      ? await WebAssembly.compile(unpackWasm(decodeBase64(wasm.packed)))
      : await WebAssembly.compileStreaming(fetch(wasm.served));
  const { memory } = await init({ module_or_path: module });
  return memory;
}
