// The rows of the timeline below all CPUs: the tracks of the answer, without those that are hidden, and behind them what
// the filters left nothing of.

import type { TaskRows, Timeline, Track, TrackBy } from "../session/types.ts";

/** Row of a track; `track` is its place in the answer, or null where it has nothing. */
export interface Row extends Omit<Track, "peak"> {
  track: number | null;
  /** Whether it has threads of its own to show; null where it has none. */
  opened: "open" | "closed" | null;
}

export function rowsOf(answer: Timeline, tasks: TaskRows | null, by: TrackBy, open: ReadonlySet<number>): Row[] {
  const threadsOf = new Map(tasks?.processes.map((each) => [each.pid, each.threads.length]));
  /** Filters may leave one of several, and in a link the tasks may not be told apart by thread. */
  const hasThreads = ({ pid, threads }: Omit<Track, "peak">): boolean =>
    pid !== null && Math.max(threads, threadsOf.get(pid) ?? 0) > 1;
  const row = (track: Omit<Track, "peak">, place: number | null): Row => ({
    ...track,
    track: place,
    opened: by !== "process" || track.level > 0 || !hasThreads(track) ? null : open.has(track.pid ?? -1) ? "open" : "closed",
  });
  const present = answer.tracks.slice(1).map((track, place) => row(track, place + 1));
  const known = new Set(present.map(({ key }) => key));
  const absent = everyTrack(tasks, by).filter(({ key }) => !known.has(key));
  return [...present, ...absent.map((track) => row(track, null))];
}

/** What the recording has of one kind of track, whatever the filters. */
function everyTrack(tasks: TaskRows | null, by: TrackBy): Omit<Track, "peak">[] {
  const none = { samples: 0, weight: 0, level: 0, threads: 0, pid: null, tid: null, cpu: null };
  switch (by) {
    case "process":
      return (tasks?.processes ?? []).map(({ pid, name, threads }) => ({
        ...none,
        key: `p${pid}`,
        label: name,
        sub: "",
        threads: threads.length,
        pid,
      }));
    case "thread":
      return (tasks?.processes ?? []).flatMap(({ pid, threads }) =>
        threads.map(({ tid, name }) => ({ ...none, key: `t${tid}`, label: name, sub: "", pid, tid })),
      );
    case "cpu":
      return (tasks?.cpus ?? []).map(({ cpu }) => ({ ...none, key: `c${cpu}`, label: `CPU ${cpu}`, sub: "", cpu }));
  }
}
