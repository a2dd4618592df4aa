// What a file is, by its first bytes. A hint for what to do with it: the session decides for itself.

/**
 * `compressed` is a recording that is packed. `candidate` is what may hold names and is no ELF file: an archive, a binary
 * that is packed, a list of symbols.
 */
export type FileKind = "profile" | "compressed" | "binary" | "candidate" | "other";

/** All begin with what they are, but for messages of the recorder in front of what it wrote into a pipe. */
const ENOUGH = 4096;

/** The magic of perf.data (tools/perf/util/header.c, __perf_magic1 and __perf_magic2), in either byte order. */
const PROFILE = /^(?:PERFILE2|2ELIFREP|PERFFILE)/;

/** The same behind lines of text, with the size that a pipe's header has: text that speaks of the magic has none. */
const PROFILE_BEHIND_TEXT = /^[\t\n\r -~\x80-\xff]*\n(?:PERFILE2\x10\0{7}|2ELIFREP\0{7}\x10)/;

/** gzip (RFC 1952), xz (its file format 1.2.1), zstd (RFC 8878), bzip2: the first bytes of what wraps a whole file. */
const WRAPPERS = ["\x1f\x8b", "\xfd7zXZ\0", "\x28\xb5\x2f\xfd", "BZh"];

/** zip (its APPNOTE 4.3.7), ar with what deb is made of (deb(5)), and tar, whose magic stands at 257 (POSIX ustar). */
const ARCHIVE = /^(?:PK\x03\x04|!<arch>\n|.{257}ustar)/s;

/**
 * A line of /proc/kallsyms, of a perf map (tools/perf/Documentation/jit-interface.txt), or what perftab writes before the first;
 * a jitdump, in either byte order (jitdump-specification.txt).
 */
const SYMBOLS = /^(?:DTiJ|JiTD|# perftab kallsyms|[0-9a-f]{8,16} [a-zA-Z] [\w.$]+|[0-9a-f]{4,16} [0-9a-f]{1,16} \S)/;

export function sniffBytes(head: Uint8Array): FileKind {
  const text = String.fromCharCode(...head.subarray(0, ENOUGH));
  if (PROFILE.test(text) || PROFILE_BEHIND_TEXT.test(text)) {
    return "profile";
  }
  if (WRAPPERS.some((magic) => text.startsWith(magic))) {
    return "compressed";
  }
  if (text.startsWith("\x7fELF")) {
    return "binary";
  }
  return ARCHIVE.test(text) || SYMBOLS.test(text) ? "candidate" : "other";
}

async function sniff(file: File): Promise<FileKind> {
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
export async function sniffAll(files: readonly File[], unwrap: (files: File[]) => Promise<Uint8Array[]>): Promise<FileKind[]> {
  const kinds: FileKind[] = [];
  for (let from = 0; from < files.length; from += AT_ONCE) {
    kinds.push(...(await Promise.all(files.slice(from, from + AT_ONCE).map(sniff))));
  }
  const wrapped = files.filter((_, index) => kinds[index] === "compressed");
  const inside = wrapped.length === 0 ? [] : await unwrap(wrapped);
  return kinds.map((kind) => (kind === "compressed" ? packedAs(sniffBytes(inside.shift() ?? new Uint8Array())) : kind));
}

/** What a file is, given what is in it. A wrapper within a wrapper is nothing that is known here. */
function packedAs(inside: FileKind): FileKind {
  switch (inside) {
    case "profile":
      return "compressed";
    case "binary":
    case "candidate":
      return "candidate";
    default:
      return "other";
  }
}
