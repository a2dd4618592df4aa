// Changes of the question that all views answer, each one step that Back undoes.
//
// Call nodes belong to one tree: another question has other ones. What is selected and zoomed into is therefore looked
// up again in the new tree; where its call is gone, the zoom goes to the deepest call above it that is still there, and of
// the selection the function remains.

import { batch, computed } from "@preact/signals";
import type { AroundFunction, CallNodeDetail, DsoRef, Place, Query, TimeRange, Transform } from "../session/types.ts";
import { ALL } from "../session/types.ts";
import { draggedRange, query, selection, session, zoomRoot } from "../state/app.ts";
import { detail } from "../state/detail.ts";
import { sampledOf } from "../state/event_tasks.ts";
import { amendStep, step, zoomTo } from "../state/history.ts";
import { ofProfile } from "../state/of_profile.ts";
import { DEFAULT_QUERY, MOST_LISTED } from "../state/query_text.ts";
import { findSelectedFunction } from "./find_function.ts";
import { presentPlaces } from "./places.ts";

// Undo beside the filters takes back changes of these alone; views and zooms have Back -------------------------------------

const FILTERS = ["range", "processes", "threads", "cpus", "comms", "dsos", "steps", "around"] as const;
type Filters = Pick<Query, (typeof FILTERS)[number]>;

const filtersOf = (asked: Query): Filters => Object.fromEntries(FILTERS.map((each) => [each, asked[each]])) as Filters;

const MOST_UNDONE = 99;

/** As they were before each change, oldest first; some may be shown again already, by Back. */
const filtersBefore = ofProfile<readonly Filters[]>([]);

export const canUndoFilters = computed(() => filtersBefore.value.some((each) => !isSame(each, filtersOf(query.value))));

/** As a step of its own, which Back takes back. */
export function undoFilters(): void {
  const before = filtersBefore.peek();
  const at = before.findLastIndex((each) => !isSame(each, filtersOf(query.peek())));
  if (at >= 0) {
    ask(before[at] as Filters);
    filtersBefore.value = before.slice(0, at);
  }
}

/** What becomes of the selection where its call is gone. */
type Fallback = "function" | "caller";

function ask(change: Partial<Query>, fallback: Fallback = "function"): void {
  const next = { ...query.peek(), ...change };
  if (isSame(next, query.peek())) {
    return;
  }
  if (!isSame(filtersOf(next), filtersOf(query.peek()))) {
    filtersBefore.value = [...filtersBefore.peek().slice(-MOST_UNDONE), filtersOf(query.peek())];
  }
  const { zoomed } = presentPlaces();
  keepSelection(
    () =>
      step(() => {
        query.value = next;
        zoomRoot.value = ALL;
      }),
    fallback,
  );
  void findPlace(zoomed).then((callNode) => {
    if (callNode !== ALL && query.peek() === next && zoomRoot.peek() === ALL) {
      amendStep(() => {
        zoomRoot.value = callNode;
      });
    }
  });
}

/** Changes the query, or not; if it does, the selection is looked up again. */
export function keepSelection(change: () => void, fallback: Fallback = "function"): void {
  const before = query.peek();
  const chosen = selection.peek();
  const { selected } = presentPlaces();
  batch(() => {
    change();
    if (query.peek() !== before) {
      selection.value = chosen && { ...chosen, callNode: null };
    }
  });
  const asked = query.peek();
  if (asked === before || chosen === null) {
    return;
  }
  const kept = selection.peek();
  const isCurrent = (): boolean => selection.peek() === kept && query.peek() === asked;
  void findPlace(selected).then(async (callNode) => {
    const found = await detailOf(callNode);
    // By now something else may be selected, or asked.
    if (!isCurrent()) {
      return;
    }
    const isTheSame = found !== null && (chosen.functionId === null || found.functionId === chosen.functionId);
    if (isTheSame) {
      selection.value = { callNode, functionId: found.functionId };
    } else if (found !== null && fallback === "caller") {
      // What was inlined into it may stand in its place.
      const isBelow = selected !== null && found.depth >= selected.path.length;
      const caller = isBelow ? found.parent : callNode;
      selection.value = caller === null || caller === ALL ? null : { callNode: caller, functionId: null };
    } else if (chosen.functionId === null || fallback === "caller") {
      selection.value = null;
    } else {
      findSelectedFunction();
    }
  });
}

async function detailOf(callNode: number): Promise<CallNodeDetail | null> {
  const asked = session.peek();
  return callNode === ALL || asked === null
    ? null
    : asked.call("callNodeDetail", { query: query.peek(), callNode }).catch(() => null);
}

/** The call node at a place in the tree of the present query, or the deepest one above it; `ALL` where there is none. */
async function findPlace(place: Place | null): Promise<number> {
  const asked = session.peek();
  if (place === null || asked === null) {
    return ALL;
  }
  try {
    return await asked.call("findCallNode", { query: query.peek(), place });
  } catch {
    // The worker died, and says so itself.
    return ALL;
  }
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

// The tree ------------------------------------------------------------------------------------------------------------

export const setDirection = (direction: Query["direction"]): void => ask({ direction });
export const setGroup = (group: Query["group"]): void => ask({ group });
export const setInlines = (inlines: Query["inlines"]): void => ask({ inlines });
export const setUnnamed = (unnamed: Query["unnamed"]): void => ask({ unnamed });
export const setEvent = (event: number): void => ask({ event });
/** Colours only: these count as own code, whatever their folder says. */
export const setOwn = (own: readonly DsoRef[]): void => ask({ own: [...own] });
export const setAround = (around: AroundFunction | null): void => ask({ around });

export function invert(): void {
  setDirection(query.peek().direction === "callees" ? "inverted" : "callees");
}

// Filters: what is empty keeps everything ------------------------------------------------------------------------------

/** While a range is being dragged: what it will be. No step of the history. */
export function previewRange(range: TimeRange | null): void {
  draggedRange.value = range;
}

/** The drag is over: as it was meant, or not at all. */
export function endDrag(outcome: "kept" | "cancelled"): void {
  const dragged = draggedRange.peek();
  if (outcome === "kept" && dragged !== null && dragged.start < dragged.end) {
    setRange(dragged);
  } else {
    previewRange(null);
  }
}

export function setRange(range: TimeRange | null): void {
  batch(() => {
    draggedRange.value = null;
    ask({ range });
  });
}

/** Makes a call fill the width of the graph. Processes that are one there are chosen instead: then each is shown by itself. */
export async function enterCall(callNode: number): Promise<void> {
  const asked = query.peek();
  const known = detail.peek();
  const node = known?.callNode === callNode ? known : await detailOf(callNode);
  const processes = sampledOf(node?.processes ?? []);
  if (query.peek() !== asked) {
    return;
  }
  if (processes.length === 0) {
    zoomTo(callNode);
  } else if (processes.length > MOST_LISTED) {
    setGroup("process"); // No address holds as many.
  } else {
    setProcesses(processes);
  }
}

/** By pid. */
export const setProcesses = (processes: readonly number[]): void => ask({ processes: sorted(processes) });
/** By tid. */
export const setThreads = (threads: readonly number[]): void => ask({ threads: sorted(threads) });
/** Of these processes, or of these threads alone. */
export const setTasks = ({ processes, threads }: Pick<Query, "processes" | "threads">): void =>
  ask({ processes: sorted(processes), threads: sorted(threads) });
export const setCpus = (cpus: readonly number[]): void => ask({ cpus: sorted(cpus) });
/** By the name of the thread. */
export const setComms = (comms: readonly string[]): void => ask({ comms: [...new Set(comms)].sort() });
/** Only samples that end in one of these. */
export const setDsos = (dsos: readonly DsoRef[]): void => ask({ dsos: [...dsos] });

export const toggleProcess = (pid: number): void => setProcesses(toggled(query.peek().processes, pid));
export const toggleThread = (tid: number): void => setThreads(toggled(query.peek().threads, tid));
export const toggleCpu = (cpu: number): void => setCpus(toggled(query.peek().cpus, cpu));

function toggled(all: readonly number[], one: number): number[] {
  return all.includes(one) ? all.filter((each) => each !== one) : [...all, one];
}

function sorted(numbers: readonly number[]): number[] {
  return [...new Set(numbers)].sort((a, b) => a - b);
}

// Transforms: in order of effect ---------------------------------------------------------------------------------------

export function addStep(transform: Transform): void {
  // What these act on is in the tree no more: the next key acts on its caller.
  const vanishes = transform.kind === "merge" || transform.kind === "merge-call-node" || transform.kind === "drop";
  ask({ steps: [...query.peek().steps, transform] }, vanishes ? "caller" : "function");
}

export const setSteps = (steps: Query["steps"]): void => ask({ steps });

export function removeStep(index: number): void {
  ask({ steps: query.peek().steps.filter((_, at) => at !== index) });
}

/** Everything is shown again, as the tree that was chosen. */
export function clearFilters(): void {
  const { event, direction, group, inlines, unnamed, own } = query.peek();
  ask({ ...DEFAULT_QUERY, event, direction, group, inlines, unnamed, own });
}
