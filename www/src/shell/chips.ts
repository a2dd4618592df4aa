// The filters and steps of a query as chips, in the order in which they take effect.

import type { Query, Removed, Transform } from "../session/types.ts";
import { processNames, threadNames } from "../state/event_tasks.ts";
import { count } from "../state/format.ts";
import { labelOfDso, labelOfFunction, labelOfPath } from "../state/function_words.ts";
import { rangeWords } from "../timeline/words.ts";
import { removeStep, setAround, setComms, setCpus, setDsos, setProcesses, setRange, setThreads } from "../views/query_steps.ts";
import { TRANSFORMS } from "./transforms.ts";

export interface Chip {
  key: string;
  look: "range" | "filter" | "step";
  /** Under which name the session counts what it removes; null where it removes nothing. */
  what: Removed["what"] | null;
  /** "Drop" of "Drop epoll_wait". */
  word: string;
  text: string;
  remove: () => void;
}

export function chipsOf(query: Query): Chip[] {
  const { range, processes, threads, cpus, comms, dsos, steps, around } = query;
  const chips: (Chip | null)[] = [
    range && {
      key: "range", look: "range", what: "range", word: range.side === "inside" ? "Range" : "Without",
      text: rangeWords(range), remove: () => setRange(null),
    },
    filter("processes", "Process", "Processes", processes.map((pid) => named(processNames.value.get(pid), pid)), () => setProcesses([])),
    filter("threads", "Thread", "Threads", threads.map((tid) => named(threadNames.value.get(tid), tid)), () => setThreads([])),
    filter("comms", "Threads named", "Threads named", comms, () => setComms([])),
    filter("cpus", "CPU", "CPUs", cpus.length > 0 ? [ranges(cpus)] : [], () => setCpus([]), cpus.length),
    filter("dsos", "Ends in", "Ends in", dsos.map(labelOfDso), () => setDsos([])),
    ...steps.map((step, index): Chip => ({
      key: `step-${index}`, look: "step", what: index, ...stepWords(step), remove: () => removeStep(index),
    })),
    around && {
      key: "around", look: "step", what: null, word: around.side === "callers" ? "Callers of" : "Callees of",
      text: labelOfFunction(around.function), remove: () => setAround(null),
    },
  ];
  return chips.filter((chip) => chip !== null);
}

function filter(what: "processes" | "threads" | "comms" | "cpus" | "dsos", one: string, many: string, names: readonly string[], remove: () => void, number = names.length): Chip | null {
  const [first] = names;
  if (first === undefined) {
    return null;
  }
  const text = names.length > 2 ? `${first} and ${count(names.length - 1)} more` : names.join(", ");
  return { key: what, look: "filter", what, word: number === 1 ? one : many, text, remove };
}

/** A number tells two of a name apart. */
function named(name: string | undefined, id: number): string {
  return name === undefined ? String(id) : `${name} ${id}`;
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
  if (step.kind === "search") {
    return { word: "Only with", text: `“${step.text}”` };
  }
  const word = TRANSFORMS.find(({ kind }) => kind === step.kind)?.short ?? "";
  switch (step.kind) {
    case "merge-call-node":
    case "focus-subtree":
      return { word, text: labelOfPath(step.path) };
    case "collapse-dso":
      return { word, text: labelOfDso(step.dso) };
    case "collapse-recursion":
      return { word, text: "" };
    case "merge":
    case "focus":
    case "drop":
    case "collapse-function":
      return { word, text: labelOfFunction(step.function) };
  }
}
