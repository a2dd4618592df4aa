// What differs between platforms: on a Mac, Cmd stands where Ctrl does elsewhere.

export const isMac = /Mac|iPhone|iPad/.test(globalThis.navigator?.userAgent ?? "");
/** How the key is called. */
export const modifier = isMac ? "Cmd" : "Ctrl";
