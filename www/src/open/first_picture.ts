// The first picture of a profile comes before names that are not in it. Files that are fetched meanwhile would take the
// worker's time from it, and names that change make it once more.

import type { Session } from "../session/client.ts";

/** Names wait no longer than this: a page that nobody sees paints nothing, and one that is used is never quiet. */
const PATIENCE_MS = 3000;
/** From an answer to its picture: it is rendered, laid out and painted, each in a frame, and one more is to spare. */
const FRAMES = 4;

/** Resolves when the page has painted what it first asked for. */
export async function firstPicture(present: Session): Promise<void> {
  let patience: ReturnType<typeof setTimeout> | undefined;
  const impatient = new Promise<void>((done) => {
    patience = setTimeout(done, PATIENCE_MS);
  });
  await Promise.race([impatient, painted(present)]);
  clearTimeout(patience);
}

/** What is painted may ask for more. */
async function painted(present: Session): Promise<void> {
  for (let quiet = 0; quiet < FRAMES; ) {
    await present.answered();
    const before = present.asked;
    await new Promise<void>((done) => requestAnimationFrame(() => setTimeout(done)));
    quiet = present.asked === before ? quiet + 1 : 0;
  }
}
