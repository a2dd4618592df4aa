// A name that was forced is never shown without its mark: it comes from a file that is not the one that ran.

import type { JSX } from "preact";
import { Flag } from "../session/types.ts";

export function isForced(flags: number): boolean {
  return (flags & Flag.Forced) !== 0;
}

/** What stands before a name. */
export function ForcedMark({ flags }: { flags: number }): JSX.Element | null {
  return isForced(flags) ? (
    <span class="forced-mark" role="img" aria-label="forced">
      ≠{" "}
    </span>
  ) : null;
}

/** The name where nothing but text can stand. */
export function markedName(name: string, flags: number): string {
  return isForced(flags) ? `≠ ${name}` : name;
}

/** The name as it is spoken. */
export function spokenName(name: string, flags: number): string {
  return isForced(flags) ? `${name}, forced` : name;
}

/** The name as text exports write it. */
export function exportedName(name: string, flags: number): string {
  return isForced(flags) ? `[forced] ${name}` : name;
}
