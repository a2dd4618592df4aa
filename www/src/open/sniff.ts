// What a file is, by its first bytes. A hint for what to do with it: the session decides for itself.

export type Sniffed = "profile" | "binary" | "other";

/** Eight bytes tell all of these apart. */
const ENOUGH = 8;

export function sniffBytes(head: Uint8Array): Sniffed {
  const text = String.fromCharCode(...head.subarray(0, ENOUGH));
  // The magic of perf.data (tools/perf/util/header.c, __perf_magic1 and __perf_magic2), in either byte order.
  if (text === "PERFILE2" || text === "2ELIFREP" || text === "PERFFILE") {
    return "profile";
  }
  return text.startsWith("\x7fELF") ? "binary" : "other";
}

export async function sniff(file: File): Promise<Sniffed> {
  try {
    return sniffBytes(new Uint8Array(await file.slice(0, ENOUGH).arrayBuffer()));
  } catch {
    // A folder that the browser hands over as a file, or one that vanished; the session will say so.
    return "other";
  }
}

export interface Sorted {
  profiles: File[];
  candidates: File[];
}

/** Splits what was dropped. The order within each part is kept. */
export async function sortFiles(files: readonly File[]): Promise<Sorted> {
  const sorted: Sorted = { profiles: [], candidates: [] };
  for (const file of files) {
    ((await sniff(file)) === "profile" ? sorted.profiles : sorted.candidates).push(file);
  }
  return sorted;
}
