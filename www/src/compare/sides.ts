// What of the first profile's filters and transforms holds for the second: what goes by names does, in the DSOs that are
// called alike; numbers and times of one recording mean nothing in another.

import type { DsoRef, DsoRow, FunctionRef, PathPart, Query, Transform } from "../session/types.ts";

export interface SecondSide {
  query: Query;
  /** What is of the first only, in words; each once. */
  left: readonly string[];
}

/** `asked` as the second profile, which has these DSOs, can answer it: about its own event of the same name. */
export function secondSide(asked: Query, event: number, dsos: readonly DsoRow[]): SecondSide {
  const steps = asked.steps.map((step) => translated(step, dsos));
  const left = [
    asked.range === null ? "" : "time range",
    asked.processes.length === 0 ? "" : "PIDs",
    asked.threads.length === 0 ? "" : "TIDs",
    asked.cpus.length === 0 ? "" : "CPUs",
    steps.includes(null) ? "unnamed code" : "",
  ];
  const query: Query = {
    ...asked,
    event,
    around: null,
    range: null,
    processes: [],
    threads: [],
    cpus: [],
    dsos: asked.dsos.flatMap((dso) => namesakes(dso, dsos)),
    own: asked.own.flatMap((dso) => namesakes(dso, dsos)),
    steps: steps.filter((step) => step !== null),
  };
  return { query, left: left.filter((each) => each !== "") };
}

/** null for a step that names code by its address: there that is other code. */
function translated(step: Transform, dsos: readonly DsoRow[]): Transform | null {
  switch (step.kind) {
    case "collapse-recursion":
    case "drop-idle":
    case "search":
      return step;
    case "collapse-dso":
      return { ...step, dso: namesakeOf(step.dso, dsos) };
    case "merge-call-node":
    case "focus-subtree": {
      const path = step.path.map((part) => partThere(part, dsos));
      return path.includes(null) ? null : { ...step, path: path.filter((part) => part !== null) };
    }
    default: {
      const there = functionThere(step.function, dsos);
      return there === null ? null : { ...step, function: there };
    }
  }
}

function partThere(part: PathPart, dsos: readonly DsoRow[]): PathPart | null {
  switch (part.kind) {
    case "function":
    case "inlined": {
      const there = functionThere(part.function, dsos);
      return there === null ? null : { ...part, function: there };
    }
    case "dso":
      return { ...part, dso: namesakeOf(part.dso, dsos) };
    default:
      return part;
  }
}

/** Addresses are the same code in the same build only. */
function functionThere(called: FunctionRef, dsos: readonly DsoRow[]): FunctionRef | null {
  const dso = namesakeOf(called.dso, dsos);
  const isSameBuild = dso.buildId !== null && dso.buildId === called.dso.buildId;
  return called.name !== null || isSameBuild ? { ...called, dso } : null;
}

/** Those of the same build, or else those that are called alike. One that is not there stays, and finds nothing. */
function namesakes(dso: DsoRef, dsos: readonly DsoRow[]): DsoRef[] {
  const refs = dsos.map(({ path, build_id: buildId }): DsoRef => ({ path, buildId }));
  const same = refs.filter(({ buildId }) => buildId !== null && buildId === dso.buildId);
  const alike = same.length > 0 ? same : refs.filter(({ path }) => path === dso.path);
  const named = alike.length > 0 ? alike : refs.filter(({ path }) => fileName(path) === fileName(dso.path));
  return named.length > 0 ? named : [dso];
}

/** Of several, the one with most samples: the ledger's order. */
function namesakeOf(dso: DsoRef, dsos: readonly DsoRow[]): DsoRef {
  return namesakes(dso, dsos)[0] ?? dso;
}

function fileName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
