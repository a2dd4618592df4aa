// Timelines and heat maps of a minute that never was: four processes, one busy between 20 s and 32 s, a pause at 35 s,
// lost events at 24 s and 29 s.

import type { HeatCell, HeatMap, HeatRequest } from "../../src/session/types.ts";
import type { Marks, TaskRows, Timeline, TimelineRequest, Track } from "../../src/session/types.ts";

export const MINUTE = 60e9;
const KINDS = 6;
const CPUS = 16;
/** Of own, system, kernel, JIT, unnamed and pseudo code. */
const PROCESSES = [
  { pid: 812, name: "nginx", threads: 8, kinds: [0.5, 0.2, 0.3, 0, 0, 0], busy: () => 4 },
  {
    pid: 901,
    name: "edge-auth",
    threads: 6,
    kinds: [0, 0.1, 0.1, 0, 0.8, 0],
    busy: (s: number) => 6 * Math.exp(-(((s - 26) / 4) ** 2)),
  },
  {
    pid: 77,
    name: "node",
    threads: 11,
    kinds: [0.2, 0, 0, 0.8, 0, 0],
    busy: (s: number) => 3 * Math.exp(-(((s - 43) / 3) ** 2)),
  },
  { pid: 0, name: "swapper", threads: 1, kinds: [0, 0, 1, 0, 0, 0], busy: () => 0.4 },
] as const;

/** The main thread has the process's own number. */
const tidOf = (pid: number, thread: number): number => (thread === 0 ? pid : 10_000 * (pid + 1) + thread);

/** The same noise at the same place, whatever is asked. */
function noise(a: number, b: number): number {
  const x = Math.sin(a * 12.9898 + b * 78.233) * 43758.5453;
  return x - Math.floor(x);
}

function busy(process: (typeof PROCESSES)[number], second: number): number {
  return second >= 35.1 && second < 35.5 ? 0 : process.busy(second);
}

/** CPUs that are busy, on average of a short time. */
export function busyAt(second: number): number {
  return PROCESSES.reduce(
    (sum, each, index) => sum + busy(each, second) * (0.8 + 0.4 * noise(index, Math.floor(second * 50))),
    0,
  );
}

export function fakeTimeline({ by, open, start, end, bins }: TimelineRequest, manyThreads = 0): Timeline {
  const shares: { share: (bin: number) => number; process: (typeof PROCESSES)[number] }[][] = [];
  const tracks: Omit<Track, "peak">[] = [];
  const second = (bin: number): number => (start + ((bin + 0.5) * (end - start)) / bins) / 1e9;
  const none = { samples: 1000, weight: 1000, level: 0, threads: 0, pid: null, tid: null, cpu: null };
  const add = (track: Partial<Track> & { key: string; label: string; sub: string }, of: (typeof shares)[number]): void => {
    tracks.push({ ...none, ...track });
    shares.push(of);
  };
  add(
    { key: "all", label: "All CPUs", sub: String(CPUS) },
    PROCESSES.map((process) => ({ share: () => 1, process })),
  );
  for (const process of by === "cpu" ? [] : PROCESSES) {
    const { pid, name } = process;
    if (by === "process") {
      add(
        {
          key: `p${pid}`,
          label: name,
          sub: process.threads > 1 ? `${process.threads} threads` : "",
          threads: process.threads,
          pid,
        },
        [{ share: () => 1, process }],
      );
    }
    for (let thread = 0; by === "thread" || open.includes(pid) ? thread < process.threads + manyThreads : false; thread++) {
      const share = (bin: number): number => noise(thread, bin) / process.threads;
      add(
        {
          key: `t${tidOf(pid, thread)}`,
          label: name,
          sub: String(tidOf(pid, thread)),
          pid,
          tid: tidOf(pid, thread),
          level: by === "thread" ? 0 : 1,
        },
        [{ share, process }],
      );
    }
  }
  for (let cpu = 0; by === "cpu" && cpu < CPUS; cpu++) {
    add(
      { key: `c${cpu}`, label: `CPU ${cpu}`, sub: "", cpu },
      PROCESSES.map((process) => ({ share: (bin) => noise(cpu, bin) / CPUS, process })),
    );
  }
  const weights = new Float32Array(tracks.length * bins * KINDS);
  const peaks = tracks.map((_, track) => {
    let peak = 0;
    for (let bin = 0; bin < bins; bin++) {
      let sum = 0;
      for (const { share, process } of shares[track] ?? []) {
        const all = busy(process, second(bin)) * share(bin) * (0.8 + 0.4 * noise(process.pid, bin)) * 1e6;
        process.kinds.forEach((part, kind) => {
          weights[(track * bins + bin) * KINDS + kind] = (weights[(track * bins + bin) * KINDS + kind] ?? 0) + all * part;
        });
        sum += all;
      }
      peak = Math.max(peak, sum);
    }
    return peak;
  });
  return {
    start,
    end,
    bins,
    kinds: KINDS,
    leftOut: 0,
    tracks: tracks.map((track, at) => ({ ...track, peak: peaks[at] ?? 0 })),
    weights,
  };
}

const SUMS = { samples: 1000, weight: 1000, start: 0, end: MINUTE - 1 };

export function fakeTasks(): TaskRows {
  return {
    processes: [...PROCESSES, { pid: 5, name: "cron", threads: 1 }].map(({ pid, name, threads }) => ({
      pid,
      name,
      ...SUMS,
      threads: Array.from({ length: threads }, (_, thread) => ({ tid: tidOf(pid, thread), name, ...SUMS })),
    })),
    cpus: Array.from({ length: CPUS }, (_, cpu) => ({ cpu, samples: 1000 })),
  };
}

export function fakeMarks(): Marks {
  return {
    time: Float64Array.of(3e9, 24e9, 29e9, 47.5e9),
    kind: Uint8Array.of(1, 0, 0, 2),
    count: Float64Array.of(1, 804, 400, 1),
    text: ["nginx", "", "", "node"],
  };
}

export function fakeHeatMap({ period, rows, start, end }: HeatRequest): HeatMap {
  const columns = Math.ceil((end - start) / period);
  const cells = Array.from({ length: columns * rows }, (_, at) => busyAt(((at / rows) * period) / 1e9));
  const samples = Uint32Array.from(cells, (each) => Math.round((each * period) / rows / 1e6));
  return {
    start: Math.floor(start / period) * period,
    columns,
    rows,
    cpus: CPUS,
    samples,
    busy: Float32Array.from(cells),
    rowTotals: Float64Array.from({ length: rows }, (_, row) =>
      Array.from({ length: columns }, (__, column) => samples[column * rows + row] ?? 0).reduce((sum, each) => sum + each, 0),
    ),
  };
}

export function fakeHeatCell(start: number, end: number): HeatCell {
  const steps = Math.max(1, Math.round((end - start) / 1e7));
  const busy = Array.from({ length: steps }, (_, at) => busyAt((start + at * 1e7) / 1e9));
  const sum = busy.reduce((all, each) => all + each, 0);
  return { samples: Math.round(sum * 10), cpusBusy: sum / steps, mostly: "edge-auth+0x2240b8" };
}
