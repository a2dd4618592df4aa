// The session's code, from the text that the page carries.

import init from "../generated/perftab_web.js";

/** Memory of the session, for its size. */
export type Memory = Awaited<ReturnType<typeof init>>["memory"];

/** `text` is gzip in base64. */
export async function startWasm(text: string): Promise<Memory> {
  const packed = decodeBase64(text);
  const unpacked = new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip")));
  const { memory } = await init({ module_or_path: await unpacked.arrayBuffer() });
  return memory;
}

function decodeBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let index = 0; index < binary.length; index += 1) {
    bytes[index] = binary.charCodeAt(index);
  }
  return bytes;
}
