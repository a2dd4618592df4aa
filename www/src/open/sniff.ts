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
  binaries: File[];
  /** Whatever else; a debug file in an archive may be among them. */
  others: File[];
}

/** Read together: a folder has thousands of files, and each waits for the disk. */
const AT_ONCE = 64;

/** Splits what was dropped. The order within each part is kept. */
export async function sortFiles(files: readonly File[]): Promise<Sorted> {
  const sorted: Sorted = { profiles: [], binaries: [], others: [] };
  for (let from = 0; from < files.length; from += AT_ONCE) {
    const some = files.slice(from, from + AT_ONCE);
    const kinds = await Promise.all(some.map(sniff));
    some.forEach((file, index) => {
      sorted[PART[kinds[index] ?? "other"]].push(file);
    });
  }
  return sorted;
}

const PART = { profile: "profiles", binary: "binaries", other: "others" } as const;
