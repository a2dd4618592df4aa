// Unpacks the page's script, worker and style sheet, and runs the script. LZMA of all three, in the data block before this
// script, is a seventh smaller than gzip, in which the page is sent. The policy of the page allows script and style sheet by
// their hashes, as it does this script.

import { decodeBase64 } from "./session/base64.ts";
import { blockBefore } from "./session/data_block.ts";
import { keepWorker } from "./session/worker_source.ts";
import { unpackLzma } from "./worker/lzma.ts";

try {
  begin();
} catch {
  document.body.append("This copy of perftab is damaged. Reload it, or get it again.");
}

function begin(): void {
  const code = new TextDecoder().decode(unpackLzma(decodeBase64(blockBefore("code") ?? "")));
  const [main = "", worker = "", style = ""] = code.split("\0");
  keepWorker(worker);
  document.head.append(withText("style", style));
  const script = withText("script", main);
  document.body.append(script);
  // A copy that is saved has what was shipped.
  script.remove();
}

function withText(name: string, text: string): HTMLElement {
  const element = document.createElement(name);
  element.textContent = text;
  return element;
}
