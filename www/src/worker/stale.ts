// Numbers of call nodes are of one generation of names, so what asks by one may be too late.

import type { Method, Subject } from "../session/types.ts";

/** Whose answers hold numbers of call nodes. Those of a preview are of no tree. */
const ANSWERED_BY_CALL_NODE: ReadonlySet<Method> = new Set<Method>([
  "callNode",
  "callNodeDetail",
  "callTreeChildren",
  "callTreePath",
  "comparedChanges",
  "comparedChildren",
  "comparedDetail",
  "comparedGraph",
  "comparedSearch",
  "findCallNode",
  "flameGraph",
  "functions",
  "sandwich",
  "search",
  "timeOrder",
]);

/** True if an answer is nothing for a page that knows another generation. It asks again when it is told of the present one. */
export function answersByCallNode(method: Method): boolean {
  return ANSWERED_BY_CALL_NODE.has(method);
}

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
