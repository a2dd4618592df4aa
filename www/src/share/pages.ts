// The profile as a page holds it: made while the tab is looked at, so that its size is known before it is saved. Without
// single samples first, which is soon done, so that each part has a size of its own.

import { computed, effect, signal } from "@preact/signals";
import type { Shared, ShareOptions, Times } from "../session/types.ts";
import { namesGeneration, session } from "../state/app.ts";
import type { LinkState } from "./links.ts";
import { makeOne, readTexts, shareOpen, shareTab, told } from "./links.ts";
import { pageWith } from "./page.ts";

/** A file has no limit that matters. */
const NO_LIMIT = 0x7fff_ffff;

/** Whether the page holds every sample, or a timeline only. */
export const pageTimes = signal<Extract<Times, "samples" | "threads">>("samples");

const NOTHING: LinkState = { kind: "making", before: null };
const made = { threads: signal<LinkState>(NOTHING), samples: signal<LinkState>(NOTHING) };

/** What will be saved. */
export const pageMade = computed<LinkState>(() => made[pageTimes.value].value);

/** Characters of the profile without single samples, and of these; null while they are not known. */
export const partSizes = computed(() => {
  const [calls, all] = [sizeOf(made.threads.value), sizeOf(made.samples.value)];
  return { calls, samples: calls === null || all === null ? null : Math.max(0, all - calls) };
});

function sizeOf(page: LinkState): number | null {
  return sharedIn(page)?.payload.length ?? null;
}

/** What was made, or was before. */
export function sharedIn(page: LinkState): Shared | null {
  return page.kind === "made" ? page.shared : page.kind === "making" ? page.before : null;
}

/** Bytes of this page without a profile; null until somebody asks. */
let ownBytes: number | null = null;

let pending: AbortController | null = null;

/** Makes both again whenever the tab is looked at and what they say has changed. Call once. */
export function followPage(): void {
  effect(() => {
    const options = told.value;
    void [session.value, namesGeneration.value];
    pending?.abort();
    if (shareOpen.value && shareTab.value === "page" && session.value !== null) {
      void make(options);
    }
  });
}

async function make(options: ShareOptions): Promise<void> {
  pending = new AbortController();
  const { signal } = pending;
  for (const times of ["threads", "samples"] as const) {
    made[times].value = { kind: "making", before: sharedIn(made[times].peek()) };
  }
  const read = await readTexts(options, { signal });
  if (read === null || signal.aborted) {
    return;
  }
  if (read.kind === "failed") {
    Object.values(made).forEach((each) => {
      each.value = read;
    });
    return;
  }
  for (const times of ["threads", "samples"] as const) {
    const result = await makeOne({ budget: NO_LIMIT, base: "", options: { ...options, times } }, { signal });
    if (result === null || signal.aborted) {
      return;
    }
    made[times].value = result;
  }
}

export function cancelPage(): void {
  pending?.abort();
  for (const each of Object.values(made)) {
    each.value = each.peek().kind === "making" ? { kind: "cancelled" } : each.peek();
  }
}

export function makePage(): void {
  void make(told.peek());
}

/** Bytes of the page around a profile. */
export function bytesAround(): number {
  ownBytes ??= new Blob([pageWith(document, "")]).size;
  return ownBytes;
}
