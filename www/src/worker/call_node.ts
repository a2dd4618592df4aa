// A call node and what is around it, in one answer: cards, panels, and what assistive technology is told are made of it.

import type { Session } from "../generated/perftab_web.js";
import type { Args, CallNodeAround } from "../session/types.ts";

/** null if there is no such call node (any more). */
export function callNodeAround(session: Session, { query, callNode, most }: Args<"callNode">): CallNodeAround | null {
  const detail = session.callNodeDetail(query, callNode);
  if (detail === null) {
    return null;
  }
  const [place, half] = [detail.posInSet - 1, Math.floor(most / 2)];
  return {
    detail,
    path: session.callTreePath(query, callNode),
    siblings:
      detail.parent === null ? null : session.callTreeChildren(query, detail.parent, Math.max(0, place - half), place + half + 1),
    children: session.callTreeChildren(query, callNode, 0, most),
  };
}
