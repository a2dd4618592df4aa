// What stands where samples ended, read for a link or a page that is to tell it: instructions by the worker, lines from wherever
// Source has its text. What Source refuses is told to nobody.

import { dataBlock } from "../session/data_block.ts";
import type { CallOptions, Session } from "../session/client.ts";
import type { ShareOptions } from "../session/types.ts";
import { linesAt } from "../views/source/sources.ts";
import { syntax } from "../views/source/state.ts";

/** Files whose lines are looked for: servers may be asked for each. */
const MOST_FILES = 200;

export async function readPlaceTexts(session: Session, options: ShareOptions, how: CallOptions): Promise<void> {
  const { source, assembly } = options.privacy ?? {};
  if (source !== "included" && assembly !== "included") {
    return;
  }
  const asked = { options, syntax: syntax.peek(), listing: await dataBlock("listing") };
  const wanted = await session.call("readPlaces", asked, how);
  for (const { path, md5, noted, code, at, lines } of wanted.slice(0, MOST_FILES)) {
    const found = await linesAt(session, { path, md5, code, at }, lines);
    if (how.signal?.aborted) {
      return;
    }
    if (found !== null) {
      // Of some of its code nothing speaks for it.
      const check = found.check === "checked" && noted === "some" ? "not-checked" : found.check;
      await session.call("tellLines", { path, check, lines, texts: found.texts }, how);
    }
  }
}
