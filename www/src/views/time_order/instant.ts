// The stack at an instant: where the pointer or the cursor of the timeline is, and where it was clicked.
//
// It is asked of the session as a time order of a nanosecond, which folds nothing however little of the time is in sight.

import { effect, signal, untracked } from "@preact/signals";
import { ask } from "../../session/ask.ts";
import type { FlameGraph } from "../../session/types.ts";
import { NONE } from "../../session/types.ts";
import { namesGeneration, phase, session } from "../../state/app.ts";
import type { Instant } from "../../timeline/state.ts";
import { chosenInstant, hasSingleSamples, pointedInstant, stackWords, timeCursor } from "../../timeline/state.ts";
import { spokenName } from "../forced_name.tsx";
import { callees, thread } from "./time_host.ts";

/** Wide enough for every name. */
const WIDTH_PX = 1000;
/** Words of so many calls tell a listener where the cursor is. */
const SPOKEN = 3;

export interface StackAt {
  time: number;
  tid: number;
  /** Outermost first; none where the thread was not sampled. */
  calls: readonly { name: string; callNode: number; functionId: number | null; row: number }[];
}

/** Of the pointer, as soon as it is known; null while it is elsewhere. */
export const stackAtPointer = signal<StackAt | null>(null);

/** The first row is the thread. */
function callsOf(graph: FlameGraph): StackAt["calls"] {
  return Array.from({ length: Math.max(0, graph.depths - 1) }, (_, above) => {
    const box = graph.rowStart[above + 1] as number;
    const functionId = graph.functionId[box] as number;
    return {
      name: spokenName(graph.labels[graph.label[box] as number] ?? "", graph.flags[box] as number),
      callNode: graph.callNode[box] as number,
      functionId: functionId === NONE ? null : functionId,
      row: above + 1,
    };
  });
}

/** Asks for stacks while time is pointed at; `choose` gets that of an instant that is clicked. The answer ends it. */
export function followInstants(choose: (stack: StackAt) => void): () => void {
  const askFor = (instant: Instant, tell: (stack: StackAt) => void): (() => void) | undefined => {
    void namesGeneration.value;
    const [asked, query, tid] = [session.value, callees.value, instant.tid ?? thread.value];
    if (asked === null || tid === null || phase.value.kind !== "open" || !hasSingleSamples.value) {
      return undefined;
    }
    const start = Math.floor(instant.time);
    const window = { thread: tid, start, end: start + 1, widthPx: WIDTH_PX, minPx: 0, search: "" };
    return ask(
      ({ signal }) => asked.call("timeOrder", { query, window }, { signal }),
      (graph) => tell({ time: instant.time, tid, calls: callsOf(graph) }),
    );
  };
  // What was clicked before means nothing here.
  let before = chosenInstant.peek();
  const stops = [
    effect(() => {
      const at = pointedInstant.value;
      if (at !== null) {
        return askFor(at, (stack) => {
          stackAtPointer.value = stack;
        });
      }
      stackAtPointer.value = null;
      return undefined;
    }),
    effect(() => {
      const at = chosenInstant.value;
      if (at === null || at === before) {
        return undefined;
      }
      before = at;
      return untracked(() => askFor(at, choose));
    }),
    effect(() => {
      const time = timeCursor.value;
      if (time === null) {
        return undefined;
      }
      return askFor({ time, tid: null }, ({ calls }) => {
        const words = calls.slice(-SPOKEN).map(({ name }) => name);
        stackWords.value = { time, words: words.length === 0 ? "not sampled" : words.reverse().join(", called by ") };
      });
    }),
    () => {
      stackAtPointer.value = null;
      stackWords.value = null;
    },
  ];
  return () => {
    for (const stop of stops) {
      stop();
    }
  };
}
