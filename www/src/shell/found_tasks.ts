// What the fields of the menus of processes and CPUs stand for, and a search that finds no function.

import type { ProcessRow, Query, ThreadRow } from "../session/types.ts";
import { counted } from "../state/format.ts";

export type Found = Pick<Query, "processes" | "threads">;
type Process = Pick<ProcessRow, "pid" | "name"> & { threads: readonly Pick<ThreadRow, "tid" | "name">[] };

/** Whether a name has the text in it, or a number begins with it; an empty one is everywhere. */
export function has(name: string, id: number, text: string): boolean {
  return name.toLowerCase().includes(text) || String(id).startsWith(text);
}

const isCalled = (name: string, id: number, text: string): boolean => name.toLowerCase() === text || String(id) === text;

/** Those that are listed: processes that the text finds, and those with a thread that it finds. */
export function listed<Row extends Process>(processes: readonly Row[], text: string): Row[] {
  return processes.filter(
    ({ name, pid, threads }) => has(name, pid, text) || threads.some((thread) => has(thread.name, thread.tid, text)),
  );
}

/**
 * The processes that are called just so, else the threads, else whatever has the text in it; null where nothing has.
 * "worker-5" is one process, though worker-50 has it too.
 */
export function meant(processes: readonly Process[], text: string): Found | null {
  for (const fits of [isCalled, has]) {
    const pids = processes.filter(({ name, pid }) => fits(name, pid, text)).map(({ pid }) => pid);
    if (pids.length > 0) {
      return { processes: pids, threads: [] };
    }
    const threads = processes.flatMap((process) => process.threads).filter(({ name, tid }) => fits(name, tid, text));
    if (threads.length > 0) {
      return { processes: [], threads: threads.map(({ tid }) => tid) };
    }
  }
  return null;
}

/** "1 process", "12 threads" */
export function countedTasks({ processes, threads }: Found): string {
  return processes.length > 0 ? counted(processes.length, "process", "processes") : counted(threads.length, "thread", "threads");
}

/** The CPUs of "0-3, 8" that there are; null for what says no numbers, or none of these. */
export function cpusOf(text: string, there: readonly number[]): number[] | null {
  const ranges = text.split(",").map((part) => /^\s*(\d+)\s*(?:[-–]\s*(\d+)\s*)?$/.exec(part));
  if (ranges.includes(null)) {
    return null;
  }
  const within = (cpu: number): boolean =>
    ranges.some((range) => cpu >= Number(range?.[1]) && cpu <= Number(range?.[2] ?? range?.[1]));
  const cpus = there.filter(within);
  return cpus.length === 0 ? null : cpus;
}
