// The links of the share dialog: one a budget, made by the session when the dialog asks for it.

import { computed, effect, signal } from "@preact/signals";
import { Cancelled, SessionError, WorkerDied } from "../session/client.ts";
import type { Shared, SharedParts, ShareRequest } from "../session/types.ts";
import { namesGeneration, session } from "../state/app.ts";
import { recallText, remember } from "../state/storage.ts";
import { readBase, shareBase } from "./base.ts";
import { BUDGETS } from "./budgets.ts";

export type Made = { kind: "making" } | { kind: "made"; shared: Shared } | { kind: "failed"; message: string };

export const shareOpen = signal(false);
export const shareTab = signal<"link" | "page" | "export">("link");
/** Index into BUDGETS. */
export const budget = signal(2);
/** The address that the user wants links to name; empty for the page's own choice. */
export const baseField = signal(recallText("base") ?? "");
export const base = computed(() => readBase(baseField.value) ?? shareBase(location));

/** What the link may tell beyond names and numbers. */
export const parts = signal<SharedParts>({ folders: false, host: false });

/** By budget in characters. */
export const made = signal<ReadonlyMap<number, Made>>(new Map());

export const chosen = computed<Made>(() => made.value.get(BUDGETS[budget.value]?.characters ?? 0) ?? { kind: "making" });
export const link = computed(() => (chosen.value.kind === "made" ? `${base.value}#${chosen.value.shared.payload}` : null));

/** Makes the links again whenever the dialog is open and what they say has changed. Call once. */
export function followShare(): void {
  let pending: AbortController | null = null;
  // What the links made so far say; another budget does not change it.
  let said: readonly unknown[] = [];
  effect(() => {
    const chosen = BUDGETS[budget.value]?.characters ?? 0;
    const [address, told] = [base.value, parts.value];
    const says = [session.value, address, told, namesGeneration.value];
    pending?.abort();
    if (says.some((each, index) => each !== said[index])) {
      said = says;
      made.value = new Map();
    }
    if (shareOpen.value && session.value !== null) {
      remember("base", readBase(baseField.peek()) === null ? "" : baseField.peek());
      pending = new AbortController();
      void makeAll(chosen, address, told, pending.signal);
    }
  });
}

/** A link of more than this takes the session so long that it is made only when it is chosen. */
export const MADE_UNASKED = 65_536;

/** The chosen budget first, since its link is what the user waits for. */
async function makeAll(first: number, address: string, told: SharedParts, signal: AbortSignal): Promise<void> {
  const unasked = BUDGETS.map(({ characters }) => characters).filter((characters) => characters <= MADE_UNASKED);
  const sizes = new Set([first, ...unasked].filter((characters) => !made.peek().has(characters)));
  for (const characters of sizes) {
    const result = await makeOne({ budget: characters, base: address, parts: told }, signal);
    if (result === null || signal.aborted) {
      return;
    }
    made.value = new Map(made.value).set(characters, result);
  }
}

async function makeOne(request: ShareRequest, signal: AbortSignal): Promise<Made | null> {
  const present = session.peek();
  if (present === null) {
    return null;
  }
  try {
    return { kind: "made", shared: await present.call("share", request, { signal }) };
  } catch (error) {
    if (error instanceof SessionError) {
      return { kind: "failed", message: error.message };
    }
    if (error instanceof Cancelled || error instanceof WorkerDied) {
      return null;
    }
    throw error;
  }
}
