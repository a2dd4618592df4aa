// The code of sessions and images, from what the page carries or was sent.

import init from "../generated/perftab_web.js";
import { decodeBase64 } from "../session/base64.ts";
import type { CarriedWasm } from "../session/types.ts";
import { unpackWasm } from "./packed_wasm.ts";

/** Memory of this worker's WebAssembly, for its size. */
export type Memory = Awaited<ReturnType<typeof init>>["memory"];

/** Compiled once, for this worker and those that it begins. */
export async function compile(wasm: CarriedWasm): Promise<WebAssembly.Module> {
  return "packed" in wasm
    ? await WebAssembly.compile(unpackWasm(decodeBase64(wasm.packed)))
    : await WebAssembly.compileStreaming(fetch(wasm.served));
}

export async function startWasm(module: WebAssembly.Module): Promise<Memory> {
  const { memory } = await init({ module_or_path: module });
  return memory;
}
