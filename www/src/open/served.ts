// The page as `perftab view` serves it: the address carries a token, and /profiles says what else there is. Without a
// token nothing is asked, so a page on a static host sends nothing.

import { signal } from "@preact/signals";

export interface Served {
  token: string;
  profiles: { name: string; size: number; url: string }[];
  /** The servers that the proxy asks after this machine's own files. */
  debuginfod: string[];
}

export const served = signal<Served | null>(null);

/** Asks once; null where the page is not served by `perftab view`. */
export async function askServer(): Promise<Served | null> {
  const token = new URLSearchParams(location.search).get("token");
  if (token === null || !location.protocol.startsWith("http")) {
    return null;
  }
  try {
    const reply = await fetch(`/profiles?token=${encodeURIComponent(token)}`);
    served.value = reply.ok ? readServed(token, await reply.json()) : null;
  } catch {
    served.value = null;
  }
  return served.value;
}

export function readServed(token: string, reply: unknown): Served | null {
  if (typeof reply !== "object" || reply === null) {
    return null;
  }
  const { profiles, debuginfod } = reply as { profiles?: unknown; debuginfod?: unknown };
  if (!Array.isArray(profiles)) {
    return null;
  }
  return {
    token,
    profiles: profiles.map((profile: { name?: unknown; size?: unknown }, index) => ({
      name: String(profile.name ?? `profile ${index}`),
      size: Number(profile.size ?? 0),
      url: `/profile/${index}?token=${encodeURIComponent(token)}`,
    })),
    debuginfod: Array.isArray(debuginfod) ? debuginfod.map(String) : [],
  };
}
