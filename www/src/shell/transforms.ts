// What can be done to the stacks, and doing it to what is selected, from whichever view.

import { effect, untracked } from "@preact/signals";
import { labelOfDso, labelOfFunction, labelOfPath } from "../state/function_words.ts";
import { query, selection, session } from "../state/app.ts";
import { percent } from "../state/format.ts";
import { shownStep, undo } from "../state/history.ts";
import { shown } from "../state/shown.ts";
import { passingToast, toast } from "../state/toasts.ts";
import type { FunctionRef, PathPart, ShownSamples, Transform } from "../session/types.ts";
import { ALL } from "../session/types.ts";
import { addStep } from "../views/query_steps.ts";
import { share } from "../views/words.ts";

export type TransformKind = Exclude<Transform["kind"], "search" | "drop-idle">;

interface TransformWords {
  kind: TransformKind;
  key: string;
  /** As a menu has it. */
  label: string;
  /** As a chip has it. */
  short: string;
  /** As the toast has it, once it is done. */
  done: string;
}

/** In the order of the menu. */
export const TRANSFORMS: readonly TransformWords[] = [
  { kind: "focus", key: "f", label: "Focus on function", short: "Focus", done: "Focused on" },
  { kind: "focus-subtree", key: "F", label: "Focus on subtree only", short: "Focus subtree", done: "Focused on the subtree of" },
  { kind: "merge", key: "m", label: "Merge function", short: "Merge", done: "Merged" },
  { kind: "merge-call-node", key: "M", label: "Merge node only", short: "Merge node", done: "Merged node" },
  { kind: "drop", key: "D", label: "Drop function", short: "Drop function", done: "Dropped function" },
  { kind: "collapse-function", key: "c", label: "Collapse function", short: "Collapse", done: "Collapsed" },
  { kind: "collapse-dso", key: "C", label: "Collapse DSO", short: "Collapse", done: "Collapsed" },
  { kind: "collapse-recursion", key: "r", label: "Collapse recursion", short: "Collapse recursion", done: "Collapsed recursion" },
];

/** What is selected, in words that hold in every tree. */
interface Target {
  function: FunctionRef | null;
  path: PathPart[];
}

/** Does it to the selection. What cannot be done is said. */
export async function applyTransform(kind: TransformKind): Promise<void> {
  const words = TRANSFORMS.find((each) => each.kind === kind);
  if (words === undefined) {
    return;
  }
  if (kind === "collapse-recursion") {
    const isThere = query.peek().steps.at(-1)?.kind === kind;
    return isThere ? toast("info", "Recursion is already collapsed.") : add({ kind }, words.done);
  }
  const asked = query.peek();
  // Names that arrive meanwhile give other numbers to call nodes: the worker refuses the old ones.
  const target = await selectedTarget().catch(() => null);
  if (target === null) {
    return toast("info", "Select a frame or a row first.");
  }
  // Somebody was quicker than the worker.
  if (query.peek() !== asked) {
    return;
  }
  const transform = transformOf(kind, target);
  if (transform === null) {
    return toast("info", `${words.label}: the selection is not a function. Select a frame below it.`);
  }
  add(transform, `${words.done} ${nameOf(transform)}`);
}

/** What a transform acts on. */
export function nameOf(transform: Transform): string {
  switch (transform.kind) {
    case "merge":
    case "focus":
    case "drop":
    case "collapse-function":
      return labelOfFunction(transform.function);
    case "merge-call-node":
    case "focus-subtree":
      return labelOfPath(transform.path);
    case "collapse-dso":
      return labelOfDso(transform.dso);
    case "collapse-recursion":
    case "drop-idle":
      return "";
    case "search":
      return `“${transform.text}”`;
  }
}

/** The transform of a target; null where it makes none: a process is no function. */
function transformOf(kind: TransformKind, target: Target): Transform | null {
  switch (kind) {
    case "merge":
    case "focus":
    case "drop":
    case "collapse-function":
      return target.function && { kind, function: target.function };
    case "merge-call-node":
    case "focus-subtree":
      return target.path.length === 0 ? null : { kind, path: target.path, direction: query.peek().direction };
    case "collapse-dso":
      return target.function && { kind, dso: target.function.dso };
    case "collapse-recursion":
      return { kind };
  }
}

async function selectedTarget(): Promise<Target | null> {
  const asking = session.peek();
  const chosen = selection.peek();
  if (asking === null || chosen === null || chosen.callNode === ALL) {
    return null;
  }
  const { callNode, functionId } = chosen;
  const path = callNode === null ? [] : await asking.call("callNodePath", { query: query.peek(), callNode });
  const last = path.at(-1);
  const ofPath = last?.kind === "function" || last?.kind === "inlined" ? last.function : null;
  const found = functionId === null ? ofPath : await asking.call("functionRef", { functionId });
  return { function: found, path };
}

function add(transform: Transform, words: string): void {
  addStep(transform);
  sayWhenKnown(words, transform);
}

/**
 * "Dropped function epoll_wait, 4.1 %", as soon as the session has counted; nothing if another step is shown by then. It goes with
 * its step, so that its Undo never takes back another.
 */
function sayWhenKnown(words: string, transform: Transform): void {
  const [asked, own] = [query.peek(), shownStep.peek()];
  let dismiss: (() => void) | null = null;
  const stop = effect(() => {
    const said = shown.value;
    const isOver = shownStep.value !== own;
    if (!isOver && dismiss === null && said?.query === asked) {
      const amount = amountOf(transform, said.answer, asked.steps.length - 1);
      dismiss = untracked(() => passingToast("undo", words + amount, { label: "Undo", run: undo }));
    }
    if (isOver) {
      untracked(() => dismiss?.());
      // It may run before there is anything to stop.
      queueMicrotask(() => stop());
    }
  });
}

/** What the step at a place did, as the end of a sentence. */
function amountOf(transform: Transform, { samples, allSamples, removed }: ShownSamples, place: number): string {
  const own = removed.find(({ what }) => what === place);
  if (own?.effect === "none") {
    return ": nothing changed";
  }
  switch (transform.kind) {
    case "drop":
      return `, ${percent(share(own?.samples ?? 0, allSamples))}`;
    case "focus":
    case "focus-subtree":
      return `, ${percent(share(samples, allSamples))} shown`;
    default:
      return "";
  }
}
