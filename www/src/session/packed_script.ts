// Scripts of workers that the page does not begin with: blocks of it that a browser unpacks itself.

import { decodeBase64 } from "./base64.ts";
import { dataBlock } from "./data_block.ts";

/** The script in a block of this name, once it is here. */
export async function packedScript(name: "highlight" | "images-script"): Promise<Blob> {
  const packed = decodeBase64(await dataBlock(name));
  const plain = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Blob([await new Response(plain).blob()], { type: "text/javascript" });
}
