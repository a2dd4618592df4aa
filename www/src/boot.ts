// Unpacks what the page's code is, style sheet, worker and script, from the data block before this one, and runs it: LZMA
// of all three is a seventh smaller than gzip, in which the page is sent. The policy of the page allows script and style
// sheet as it does this script, by their hashes.

import { decodeBase64 } from "./session/base64.ts";
import { blockBefore } from "./session/data_block.ts";
import { keepWorker } from "./session/worker_source.ts";
import { unpackLzma } from "./worker/lzma.ts";

const code = new TextDecoder().decode(unpackLzma(decodeBase64(blockBefore("code") ?? "")));
const [main = "", worker = "", style = ""] = code.split("\0");
keepWorker(worker);
document.head.append(withText("style", style));
const script = withText("script", main);
document.body.append(script);
// A copy that is saved has what was shipped.
script.remove();

function withText(name: string, text: string): HTMLElement {
  const element = document.createElement(name);
  element.textContent = text;
  return element;
}
