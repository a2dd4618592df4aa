// Unpacks the page's script, worker and style sheet, and runs the script. LZMA of all three, in the data block before this
// script, is a seventh smaller than gzip, in which the page is sent. The policy of the page allows script and style sheet by
// their hashes, as it does this script.

import { decodeBase64 } from "./session/base64.ts";
import { blockBefore } from "./session/data_block.ts";
import { beginWorker } from "./session/own_worker.ts";
import { askForProfiles, servedPart, servedToken } from "./session/served_part.ts";
import { Unpacking } from "./worker/lzma.ts";
import { nextTask } from "./worker/slices.ts";

const early = keepDrops();
begin().catch(() => {
  document.body.append("This copy of perftab is damaged. Reload it, or get it again.");
});

async function begin(): Promise<void> {
  const token = servedToken();
  if (token !== null) {
    askForProfiles(token);
  }
  const plain = token === null ? null : await asServed(token);
  const code = new TextDecoder().decode(plain ?? (await ownCode()));
  const [main = "", worker = "", style = ""] = code.split("\0");
  document.head.append(withText("style", style));
  // Where there can be none, the page says so.
  await beginWorker(worker, plain === null ? null : token).catch(() => {});
  const script = withText("script", main);
  document.body.append(script);
  // A copy that is saved has what was shipped.
  script.remove();
  // Behind what the script has put off.
  setTimeout(early);
}

/** Files that are dropped before the script is there wait for it: the browser would leave the page for them. Returns what
 * drops them once more. */
function keepDrops(): () => void {
  const kept = new DataTransfer();
  const keep = (event: DragEvent): void => {
    event.preventDefault();
    for (const file of event.type === "drop" ? (event.dataTransfer?.files ?? []) : []) {
      kept.items.add(file);
    }
  };
  window.addEventListener("dragover", keep);
  window.addEventListener("drop", keep);
  return () => {
    window.removeEventListener("dragover", keep);
    window.removeEventListener("drop", keep);
    if (kept.items.length > 0) {
      window.dispatchEvent(new DragEvent("drop", { dataTransfer: kept, cancelable: true }));
    }
  };
}

/** Null where something else than `perftab view` serves the page; it unpacks its own then. */
async function asServed(token: string): Promise<ArrayBuffer | null> {
  try {
    const reply = await fetch(servedPart("code", token));
    // Some hosts answer whatever they are asked for with a page.
    const isPart = reply.ok && reply.headers.get("content-type") === "application/octet-stream";
    return isPart ? await reply.arrayBuffer() : null;
  } catch {
    return null;
  }
}

/** Bytes unpacked in one task, half of the code: all of it takes up to 50 ms. */
const SLICE = 1 << 18;

async function ownCode(): Promise<Uint8Array> {
  const unpacking = new Unpacking(decodeBase64(blockBefore("code") ?? ""));
  while (unpacking.isPart()) {
    unpacking.next(SLICE);
    await nextTask();
  }
  return unpacking.whole();
}

function withText(name: string, text: string): HTMLElement {
  const element = document.createElement(name);
  element.textContent = text;
  return element;
}
