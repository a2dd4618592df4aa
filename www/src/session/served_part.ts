// What the page asks `perftab view`, which serves it, before its script runs: for parts of the page, which are unpacked there
// (that takes a browser 190 ms), and for what there is to open.

/** The token of the page's address; null where the page is not served by `perftab view`, and asks nobody. */
export function servedToken(): string | null {
  return location.protocol.startsWith("http") ? new URLSearchParams(location.search).get("token") : null;
}

/** Where a part is, for a worker too, which has no address that a path could be read against. */
export function servedPart(name: "code" | "wasm" | "images", token: string): string {
  return new URL(`/page/${name}?token=${encodeURIComponent(token)}`, location.href).href;
}

/** From the script that unpacks the page to the page's own. */
const kept = globalThis as { perftabProfiles?: Promise<unknown> };

/** Asks what the server offers: the answer is there when the page's script runs, and need not wait for the page to be drawn. */
export function askForProfiles(token: string): void {
  const ask = async (): Promise<unknown> => {
    const reply = await fetch(`/profiles?token=${encodeURIComponent(token)}`);
    return reply.ok ? await reply.json() : null;
  };
  kept.perftabProfiles = ask().catch(() => null);
}

/** What the server offers, as it says it; null where there is none. */
export async function askedProfiles(): Promise<unknown> {
  return await kept.perftabProfiles;
}
