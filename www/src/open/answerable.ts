// A link's view may ask for what the link cannot tell: only one that holds every sample knows when it was, in which
// thread and on which CPU. What asks for that would leave nothing, so it is not asked.

import type { Query, Times } from "../session/types.ts";

/** By what a query calls it, how it is called on the screen. */
const NEED_SAMPLES = { range: "range", threads: "threads", comms: "thread names", cpus: "CPUs" } as const;

export interface AnswerableQuery {
  query: Query;
  /** What was taken out of it, in words. */
  without: string[];
}

/** The query as far as a profile can answer it that knows so much of times; `null` for a recording. */
export function answerable(query: Query, times: Times | null): AnswerableQuery {
  if (times === null || times === "samples") {
    return { query, without: [] };
  }
  const asks = (name: keyof typeof NEED_SAMPLES): boolean => (name === "range" ? query.range !== null : query[name].length > 0);
  const names = (Object.keys(NEED_SAMPLES) as (keyof typeof NEED_SAMPLES)[]).filter(asks);
  const without: string[] = names.map((name) => NEED_SAMPLES[name]);
  const byProcess = times === "none" && query.processes.length > 0;
  return {
    query: { ...query, range: null, threads: [], comms: [], cpus: [], processes: byProcess ? [] : query.processes },
    without: byProcess ? [...without, "processes"] : without,
  };
}

/** "range and CPUs" */
export function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1) ?? ""}`;
}
