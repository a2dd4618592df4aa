// What a file is, by its first bytes. A hint for what to do with it: the session decides for itself.

export type Sniffed = "profile" | "compressed" | "binary" | "other";

/** All begin with what they are, but for messages of the recorder in front of what it wrote into a pipe. */
const ENOUGH = 4096;

/** The magic of perf.data (tools/perf/util/header.c, __perf_magic1 and __perf_magic2), in either byte order. */
const PROFILE = /^(?:PERFILE2|2ELIFREP|PERFFILE)/;

/** The same behind lines of text, with the size that a pipe's header has: text that speaks of the magic has none. */
const PROFILE_BEHIND_TEXT = /^[\t\n\r -~\x80-\xff]*\n(?:PERFILE2\x10\0{7}|2ELIFREP\0{7}\x10)/;

/** gzip (RFC 1952), xz (its file format 1.2.1), zstd (RFC 8878): the first bytes of what wraps a whole file. */
const WRAPPERS = ["\x1f\x8b", "\xfd7zXZ\0", "\x28\xb5\x2f\xfd"];

export function sniffBytes(head: Uint8Array): Sniffed {
  const text = String.fromCharCode(...head.subarray(0, ENOUGH));
  if (PROFILE.test(text) || PROFILE_BEHIND_TEXT.test(text)) {
    return "profile";
  }
  if (WRAPPERS.some((magic) => text.startsWith(magic))) {
    return "compressed";
  }
  return text.startsWith("\x7fELF") ? "binary" : "other";
}

async function sniff(file: File): Promise<Sniffed> {
  try {
    return sniffBytes(new Uint8Array(await file.slice(0, ENOUGH).arrayBuffer()));
  } catch {
    // A folder that the browser hands over as a file, or one that vanished; the session will say so.
    return "other";
  }
}

/** Read together: a folder has thousands of files, and each waits for the disk. */
const AT_ONCE = 64;

/**
 * What each file is. `unwrap` gives the first bytes that came out of each compressed file, none where nothing came; what a
 * compressed file is, they tell.
 */
export async function sniffAll(
  files: readonly File[],
  unwrap: (files: File[]) => Promise<Uint8Array[]>,
): Promise<Sniffed[]> {
  const kinds: Sniffed[] = [];
  for (let from = 0; from < files.length; from += AT_ONCE) {
    kinds.push(...(await Promise.all(files.slice(from, from + AT_ONCE).map(sniff))));
  }
  const wrapped = files.filter((_, index) => kinds[index] === "compressed");
  const inside = wrapped.length === 0 ? [] : await unwrap(wrapped);
  return kinds.map((kind) => {
    // A wrapper within a wrapper is nothing that is known here.
    return kind === "compressed" && sniffBytes(inside.shift() ?? new Uint8Array()) !== "profile" ? "other" : kind;
  });
}
