// The address before the `#` of a link.
//
// Every perftab page opens every link, whatever host it names; so a page that has no address others can reach names one
// that no one can own: `.invalid` never resolves (RFC 2606).

export const NOWHERE = "https://perftab.invalid/";

/** This page's own address, where others may reach it too. */
export function shareBase(location: { protocol: string; hostname: string; origin: string; pathname: string }): string {
  const isWeb = location.protocol === "http:" || location.protocol === "https:";
  return isWeb && !isLoopback(location.hostname) ? location.origin + location.pathname : NOWHERE;
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host.endsWith(".localhost") || /^127\./.test(host) || host === "[::1]";
}

/** What the user typed as an address, without a fragment; null if it is none. */
export function readBase(text: string): string | null {
  // Of most users. An exception thrown while the page's script starts costs 26 ms: V8 compiles all of the script again to
  // know its lines.
  if (text.trim() === "") {
    return null;
  }
  try {
    const url = new URL(text.trim());
    url.hash = "";
    return url.protocol === "http:" || url.protocol === "https:" ? url.href : null;
  } catch {
    return null;
  }
}
