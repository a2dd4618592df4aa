// What functions and DSOs of a query are called where there is little room. Names that are forced have their mark.

import type { DsoRef, FunctionRef, PathPart } from "../session/types.ts";
import { forcedRows } from "./app.ts";

/** "libz.so.1" */
export function labelOfDso({ path }: DsoRef): string {
  return path.slice(path.lastIndexOf("/") + 1) || path;
}

/** "deflate", or "libz.so.1+0x1b8f70" where there is no name, or "libz.so.1, unnamed code" for all of that. */
export function labelOfFunction({ dso, name, address }: FunctionRef): string {
  if (name === null) {
    return labelOfDso(dso) + (address === null ? ", unnamed code" : `+${address}`);
  }
  const isForced = forcedRows.value.some(({ path, build_id }) => path === dso.path && build_id === dso.buildId);
  return isForced ? `≠ ${name}` : name;
}

/** The end of the way to a call node. */
export function labelOfPath(path: readonly PathPart[]): string {
  const last = path.at(-1);
  switch (last?.kind) {
    case undefined:
      return "all";
    case "process":
    case "thread":
      return last.name;
    case "function":
    case "inlined":
      return labelOfFunction(last.function);
    case "dso":
      return labelOfDso(last.dso);
    case "no-mapping":
      return "no mapping";
  }
}
