// Who ran a DSO, and when: asked of the one that is explained, and of those that share their path with another build.

import type { DsoRow, DsoUsers } from "../session/types.ts";
import { opened, session } from "../state/app.ts";
import { ofProfile, whenAnotherOpens } from "../state/of_profile.ts";
import { count, seconds } from "../state/format.ts";

/** By DSO; null while it is being asked. */
const known = ofProfile<ReadonlyMap<number, DsoUsers | null>>(new Map());

/** What is known; asks where nothing is. Call while rendering, so that the answer renders again. */
export function usersOf({ id }: DsoRow): DsoUsers | null {
  const users = known.value.get(id);
  if (users === undefined) {
    // Not while rendering: the answer, or its absence, changes what is rendered.
    queueMicrotask(() => ask(id));
  }
  return users ?? null;
}

/** What is asked next, together. */
const wanted = new Set<number>();
whenAnotherOpens(() => wanted.clear());
/** One call at a time: each goes through all samples, and the graph must not wait for a ledger of many rows. */
let former: Promise<void> = Promise.resolve();

function ask(id: number): void {
  if (session.peek() === null || known.peek().has(id)) {
    return;
  }
  known.value = new Map(known.peek()).set(id, null);
  wanted.add(id);
  if (wanted.size === 1) {
    former = former.then(answer);
  }
}

async function answer(): Promise<void> {
  const dsos = [...wanted];
  wanted.clear();
  if (dsos.length === 0) {
    return; // Another profile was opened meanwhile.
  }
  const asked = opened.peek();
  try {
    const answers = (await session.peek()?.call("dsoUsers", { dsos })) ?? [];
    if (opened.peek() === asked) {
      known.value = new Map([...known.peek(), ...answers.map((users, place) => [dsos[place], users] as [number, DsoUsers])]);
    }
  } catch {
    // They stay unknown, and the rows without a line.
  }
}

/** "6 threads of edge-auth (pid 3377), sampled from 21.02 s to 31.40 s"; null where nothing is known. */
export function describeUsers({ processes, more, start, end }: DsoUsers): string | null {
  const [first] = processes;
  if (first === undefined) {
    return null;
  }
  const others = processes.length - 1 + more;
  const threads = first.threads === 1 ? "" : `${count(first.threads)} threads of `;
  const who = `${threads}${first.name} (pid ${first.pid})`;
  const rest = others === 0 ? "" : ` and ${count(others)} more ${others === 1 ? "process" : "processes"}`;
  const when = start === null || end === null ? "" : `, sampled from ${seconds(start)} to ${seconds(end)}`;
  return who + rest + when;
}

/** Rows that share their path with another build. */
export function twinsAmong(rows: readonly DsoRow[]): ReadonlySet<number> {
  const byPath = new Map<string, number[]>();
  for (const { id, path, samples } of rows) {
    if (samples > 0) {
      byPath.set(path, [...(byPath.get(path) ?? []), id]);
    }
  }
  return new Set([...byPath.values()].filter((ids) => ids.length > 1).flat());
}
