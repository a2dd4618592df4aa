// What belongs to the profile that is open. Another one that opens takes its place, and all of it begins again.

import type { Signal } from "@preact/signals";
import { batch, signal } from "@preact/signals";

const forgetting: (() => void)[] = [];

/** State that begins with `initial` whenever another profile opens. */
export function ofProfile<T>(initial: T): Signal<T> {
  const state = signal(initial);
  whenAnotherOpens(() => {
    state.value = initial;
  });
  return state;
}

/** What else is to be done then. */
export function whenAnotherOpens(forget: () => void): void {
  forgetting.push(forget);
}

/** Another profile opens. More of the same one, or names for it, are no reason to call this. */
export function forgetProfile(): void {
  batch(() => {
    for (const forget of forgetting) {
      forget();
    }
  });
}
