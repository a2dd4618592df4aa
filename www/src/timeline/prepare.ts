// What the graph of a dragged range needs once for each query, made while the pointer is still on its way: the first
// graph would otherwise take as long as that does, which is more than a drag can wait where samples are millions.

import type { Session } from "../session/client.ts";
import type { Query } from "../session/types.ts";
import { ALL } from "../session/types.ts";
import { namesGeneration, query, session } from "../state/app.ts";
import { treeWindow } from "../views/flame/host.ts";
import { hasSingleSamples } from "./state.ts";

interface PreparedDrag {
  session: Session;
  query: Query;
  names: number;
}

let prepared: PreparedDrag | null = null;

/** The pointer is where ranges are dragged. Does nothing where it was here before. */
export function prepareDrag(): void {
  if (!hasSingleSamples.peek()) {
    return;
  }
  const asked = session.peek();
  const now = asked && { session: asked, query: query.peek(), names: namesGeneration.peek() };
  if (now === null || (prepared?.session === asked && prepared.query === now.query && prepared.names === now.names)) {
    return;
  }
  prepared = now;
  // The graph itself, of next to nothing, is not wanted.
  const range = { start: 0, end: 1, side: "inside" } as const;
  now.session.call("rangePreview", { query: now.query, range, window: treeWindow(ALL, 1) }).catch(() => {
    // Cancelled, or the worker died and says so itself.
    prepared = null;
  });
}
