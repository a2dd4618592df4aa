// Unpacks the page's script, which is in the data block before this one, and runs it: LZMA is a seventh smaller
// than gzip, in which the page is sent. The policy of the page allows both, each by its hash.

import { decodeBase64 } from "./session/base64.ts";
import { blockBefore } from "./session/data_block.ts";
import { unpackLzma } from "./worker/lzma.ts";

const script = document.createElement("script");
script.textContent = new TextDecoder().decode(unpackLzma(decodeBase64(blockBefore("main") ?? "")));
document.body.append(script);
// A copy that is saved has what was shipped.
script.remove();
