// Which perftab this page is of: the version of the binary that it was built with.

/** Put in by `build.mjs`. */
declare const PERFTAB_VERSION: string;

// Tests bundle parts of the page without it.
export const VERSION = typeof PERFTAB_VERSION === "string" ? PERFTAB_VERSION : "";
