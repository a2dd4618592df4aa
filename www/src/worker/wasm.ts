// The code of sessions and images, from the text that the page carries.

import init from "../generated/perftab_web.js";
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

/** Newer browsers have it; TypeScript's library does not yet. */
const native = Uint8Array as unknown as { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> };

function decodeBase64(text: string): Uint8Array<ArrayBuffer> {
  return native.fromBase64?.(text) ?? Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}
