// The page as `perftab view` serves it: the address carries a token, and /profiles says what else there is. Without a
// token nothing is asked, so a page on a static host sends nothing.

import { signal } from "@preact/signals";
import { askedProfiles, servedToken } from "../session/served_part.ts";
import type { Args, Carrier, Trusted } from "../session/types.ts";

/** A file of a recording: where it is fetched. */
export interface ServedPart {
  url: string;
  size: number;
}

export interface ServedProfile {
  name: string;
  /** What it came in, if it was shared: then its only file is the payload. */
  carrier: Carrier | null;
  /** The file; of a recording that is a folder all its files, `data` first. */
  parts: ServedPart[];
  /** Where the server takes what the page read of its files, to find them and to say which build-ids were read too late. */
  files: string;
  /** Where it says what processes say of the code that they made. */
  code: string;
  /** Where it says what it has at the paths of what has no build-id; no address of a worker. */
  trusted: Trusted;
}

export interface ServedProfiles {
  token: string;
  profiles: ServedProfile[];
  /** The servers that the proxy asks after this machine's own files. */
  debuginfod: string[];
}

export const served = signal<ServedProfiles | null>(null);

/** null where the page is not served by `perftab view`. */
export async function askServer(): Promise<ServedProfiles | null> {
  const token = servedToken();
  try {
    served.value = token === null ? null : readServed(token, await askedProfiles());
  } catch {
    // Some host that says something else.
    served.value = null;
  }
  return served.value;
}

export function readServed(token: string, reply: unknown): ServedProfiles | null {
  if (typeof reply !== "object" || reply === null) {
    return null;
  }
  const { profiles, debuginfod } = reply as { profiles?: unknown; debuginfod?: unknown };
  if (!Array.isArray(profiles)) {
    return null;
  }
  return {
    token,
    profiles: profiles.map((profile: ListedProfile, index) => readProfile(token, profile, index)),
    debuginfod: Array.isArray(debuginfod) ? debuginfod.map(String) : [],
  };
}

interface ListedProfile {
  name?: unknown;
  size?: unknown;
  parts?: unknown;
  carrier?: unknown;
}

function readProfile(token: string, { name, size, parts, carrier }: ListedProfile, index: number): ServedProfile {
  const address = (path: string): string => `/profile/${path}?token=${encodeURIComponent(token)}`;
  const part = (path: string, size: unknown): ServedPart => ({ url: address(path), size: Number(size ?? 0) });
  return {
    name: String(name ?? `profile ${index}`),
    carrier: carrier === "link" || carrier === "page" ? carrier : null,
    parts: Array.isArray(parts)
      ? parts.map((each: ListedProfile, number) => part(`${index}/${number}`, each.size))
      : [part(String(index), size)],
    files: address(`${index}/files`),
    code: address(`${index}/code`),
    trusted: { list: address(`${index}/trusted`), file: `/local/trusted/${index}/DSO?token=${encodeURIComponent(token)}` },
  };
}

/** What the worker is told of it: it has no address that a path could be read against. */
export function servedParts({ carrier, parts, files, code }: ServedProfile): Args<"openUrl"> {
  const whole = (path: string): string => new URL(path, location.href).href;
  return { carrier, parts: parts.map(({ url, size }) => ({ url: whole(url), size })), files: whole(files), code: whole(code) };
}

/** The same of what it has at paths; null of what was shared, which tells no files. */
export function servedTrusted({ carrier, trusted }: ServedProfile): Trusted | null {
  const whole = (path: string): string => new URL(path, location.href).href;
  return carrier === null ? { list: whole(trusted.list), file: whole(trusted.file) } : null;
}

export function servedSize({ parts }: ServedProfile): number {
  return parts.reduce((sum, part) => sum + part.size, 0);
}
