// The filters and steps of a query as chips, in the order in which they take effect.

import type { Query, RemovedSamples, Transform } from "../session/types.ts";
import { processNames, threadNames } from "../state/event_tasks.ts";
import { count } from "../state/format.ts";
import { labelOfDso, labelOfFunction } from "../state/function_words.ts";
import { rangeWords } from "../timeline/words.ts";
import { removeStep, setAround, setComms, setCpus, setDsos, setProcesses, setRange, setThreads } from "../views/query_steps.ts";
import { idleWord, setIdle } from "../views/idle.ts";
import { nameOf, TRANSFORMS } from "./transforms.ts";

export interface Chip {
  key: string;
  look: "range" | "filter" | "step";
  /** Under which name the session counts what it removes; null where it removes nothing. */
  what: RemovedSamples["what"] | null;
  /** "Focus" of "Focus epoll_wait". */
  word: string;
  text: string;
  remove: () => void;
}

export function chipsOf(query: Query): Chip[] {
  const { range, processes, threads, cpus, comms, dsos, steps, around } = query;
  const chips: (Chip | null)[] = [
    range && {
      key: "range",
      look: "range",
      what: "range",
      word: range.side === "inside" ? "Range" : "Outside",
      text: rangeWords(range),
      remove: () => setRange(null),
    },
    filter("processes", ["Process", "Processes"], processes, namesOf(processNames.value), setProcesses),
    filter("threads", ["Thread", "Threads"], threads, namesOf(threadNames.value), setThreads),
    filter("comms", ["Threads named", "Threads named"], comms, inShort, setComms),
    filter("cpus", ["CPU", "CPUs"], cpus, ranges, setCpus),
    filter("dsos", ["Ends in", "Ends in"], dsos, (all) => inShort(all.map(labelOfDso)), setDsos),
    ...steps.map(
      (step, index): Chip => ({
        key: `step-${index}`,
        look: "step",
        what: index,
        ...stepWords(step),
        remove: () => (step.kind === "drop-idle" ? setIdle("shown") : removeStep(index)),
      }),
    ),
    around && {
      key: "around",
      look: "step",
      what: null,
      word: around.side === "callers" ? "Callers of" : "Callees of",
      text: labelOfFunction(around.function),
      remove: () => setAround(null),
    },
  ];
  return chips.filter((chip) => chip !== null);
}

/** The chip of a list that keeps what is in it; null for an empty one, which keeps everything. */
function filter<T>(
  what: "processes" | "threads" | "comms" | "cpus" | "dsos",
  [one, many]: readonly [string, string],
  list: readonly T[],
  words: (list: readonly T[]) => string,
  set: (list: readonly T[]) => void,
): Chip | null {
  const word = list.length === 1 ? one : many;
  return list.length === 0 ? null : { key: what, look: "filter", what, word, text: words(list), remove: () => set([]) };
}

/** "nginx, node"; "nginx and 3 more" */
function inShort(names: readonly string[]): string {
  return names.length > 2 ? `${names[0]} and ${count(names.length - 1)} more` : names.join(", ");
}

/** "nginx 4121": the number tells two of a name apart. */
function namesOf(names: ReadonlyMap<number, string>): (ids: readonly number[]) => string {
  return (ids) => inShort(ids.map((id) => [names.get(id), id].filter((part) => part !== undefined).join(" ")));
}

/** "0–3, 7" */
export function ranges(numbers: readonly number[]): string {
  const runs: [number, number][] = [];
  for (const number of numbers) {
    const last = runs.at(-1);
    if (last !== undefined && last[1] === number - 1) {
      last[1] = number;
    } else {
      runs.push([number, number]);
    }
  }
  return runs.map(([from, to]) => (from === to ? String(from) : `${from}–${to}`)).join(", ");
}

function stepWords(step: Transform): { word: string; text: string } {
  if (step.kind === "drop-idle") {
    return { word: `${idleWord.value ?? "Idle"} hidden`, text: "" };
  }
  const word = step.kind === "search" ? "Matching" : TRANSFORMS.find(({ kind }) => kind === step.kind)?.short;
  return { word: word ?? "", text: nameOf(step) };
}
