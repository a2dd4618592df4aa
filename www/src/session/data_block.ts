// What the page carries beside its script: blocks of the document that hold data.
//
// A profile and the page's code stand before the script that begins. The others stand behind it, so that the page is drawn
// while they are still on their way; the last line of each says that it is whole.

const END = "\n//end";

const INCOMPLETE = "part of the page did not arrive";

/** Whether a worker died since the page that it was to come from is not whole. */
export function isIncomplete(death: string): boolean {
  return death === INCOMPLETE;
}

/** The text of a block that stands before the script, where a profile does; null where the page has none. */
export function blockBefore(id: string): string | null {
  return document.getElementById(id)?.textContent?.trim() || null;
}

/** Whether the page has a block of this name; known when the document has been read to its end. */
export async function hasBlock(id: string): Promise<boolean> {
  return (await arrival(id)) !== null;
}

/** The text of a block, once it is here to its end. Rejects where the document ended before that. */
export async function dataBlock(id: string): Promise<string> {
  const text = await arrival(id);
  if (text === null) {
    throw new Error(INCOMPLETE);
  }
  return text;
}

function arrival(id: string): Promise<string | null> {
  return new Promise((resolve) => {
    const look = (): void => {
      const text = document.getElementById(id)?.textContent ?? "";
      const isWhole = text.endsWith(END);
      if (isWhole || document.readyState !== "loading") {
        observer.disconnect();
        document.removeEventListener("readystatechange", look);
        resolve(isWhole ? text.slice(0, -END.length) : null);
      }
    };
    // The document goes on behind a block that has ended.
    const observer = new MutationObserver(look);
    observer.observe(document.body, { childList: true });
    document.addEventListener("readystatechange", look);
    look();
  });
}
