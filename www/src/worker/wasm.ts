// The code of sessions and images, from the text that the page carries.

import init from "../generated/perftab_web.js";
import { decodeBase64 } from "../session/base64.ts";
import { unpackWasm } from "./packed_wasm.ts";

/** Memory of this worker's WebAssembly, for its size. */
export type Memory = Awaited<ReturnType<typeof init>>["memory"];

/** `text` is a packed module in base64. Compiled once, for this worker and those that it begins. */
export function compile(text: string): Promise<WebAssembly.Module> {
  return WebAssembly.compile(unpackWasm(decodeBase64(text)));
}

export async function startWasm(module: WebAssembly.Module): Promise<Memory> {
  const { memory } = await init({ module_or_path: module });
  return memory;
}
