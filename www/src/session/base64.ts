// What the page carries in base64.

/** Newer browsers have it; TypeScript's library does not yet. */
const native = Uint8Array as unknown as { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> };

export function decodeBase64(text: string): Uint8Array<ArrayBuffer> {
  return native.fromBase64?.(text) ?? Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}
