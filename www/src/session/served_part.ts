// Parts of the page that `perftab view`, which serves it, has unpacked: that takes a browser a tenth of a second.

/** The token of the page's address; null where the page is not served by `perftab view`, and asks nobody. */
export function servedToken(): string | null {
  return location.protocol.startsWith("http") ? new URLSearchParams(location.search).get("token") : null;
}

/** Where a part is, for a worker too, which has no address that a path could be read against. */
export function servedPart(name: "code" | "wasm", token: string): string {
  return new URL(`/page/${name}?token=${encodeURIComponent(token)}`, location.href).href;
}
