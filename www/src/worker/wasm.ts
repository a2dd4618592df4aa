// The code of sessions and images, from what the page carries or was sent.

import init from "../generated/perftab_web.js";
import { decodeBase64 } from "../session/base64.ts";
import type { CarriedWasm } from "../session/types.ts";
import { unpackWasm } from "./packed_wasm.ts";

/** Memory of this worker's WebAssembly, for its size. */
export type Memory = Awaited<ReturnType<typeof init>>["memory"];

/** Compiled once, for this worker and those that it begins. */
export async function compile(wasm: CarriedWasm): Promise<WebAssembly.Module> {
  const streams = "packed" in wasm ? decodeBase64(wasm.packed) : await fetched(wasm.served);
  return await WebAssembly.compile(unpackWasm(streams));
}

async function fetched(address: string): Promise<Uint8Array> {
  const reply = await fetch(address);
  if (!reply.ok) {
    throw new Error(`perftab view answered ${reply.status}: ${await reply.text()}`);
  }
  return new Uint8Array(await reply.arrayBuffer());
}

export async function startWasm(module: WebAssembly.Module): Promise<Memory> {
  const { memory } = await init({ module_or_path: module });
  return memory;
}
