// Numbers of call nodes are of one generation of names, so what asks by one may be too late.

import type { Subject } from "../session/types.ts";

/** What arguments say of a call node, whatever the question is. */
interface ByCallNode {
  callNode?: number;
  window?: { root?: number };
  request?: { subject?: Subject };
}

/** True if a question asks by the number of a call node; the root's number is always the same. */
export function asksByCallNode(args: unknown): boolean {
  const { callNode, window, request } = args as ByCallNode;
  return (callNode ?? 0) !== 0 || (window?.root ?? 0) !== 0 || request?.subject?.kind === "call-node";
}
