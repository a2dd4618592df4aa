// The links of the share dialog: one a budget, made by the session when the dialog asks for it.

import { computed, effect, signal } from "@preact/signals";
import type { CallOptions, Session } from "../session/client.ts";
import { Cancelled, SessionError, WorkerDied } from "../session/client.ts";
import type { Shared, ShareOptions, ShareRequest } from "../session/types.ts";
import { ALL } from "../session/types.ts";
import { info, namesGeneration, opened, query, session, viewState, zoomRoot } from "../state/app.ts";
import { ofProfile } from "../state/of_profile.ts";
import { DEFAULT_QUERY } from "../state/query_text.ts";
import { filterCount } from "../state/shown.ts";
import { recallText, remember } from "../state/storage.ts";
import type { ViewState } from "../state/url.ts";
import { writeView } from "../state/url.ts";
import { presentPlaces } from "../views/places.ts";
import { readBase, shareBase } from "./base.ts";
import { BUDGETS, MOST_CHARACTERS, OTHER } from "./budgets.ts";
import { readPlaceTexts } from "./place_texts.ts";
import { privacy } from "./privacy.ts";

export type LinkState =
  /** With what there was before, which is shown until the new one is there. */
  | { kind: "making"; before: Shared | null }
  | { kind: "made"; shared: Shared }
  | { kind: "failed"; message: string }
  | { kind: "cancelled" };

export const shareOpen = signal(false);
export const shareTab = signal<"link" | "page" | "export">("link");

/** All of the profile, or what filters and transforms leave of it. */
export const scope = signal<"whole" | "shown">("whole");
/** Index into BUDGETS, or OTHER. */
export const budget = signal(2);
/** The number that goes with OTHER. */
export const otherCharacters = signal(20_000);
export const characters = computed(() => BUDGETS[budget.value]?.characters ?? otherCharacters.value);

/** The address that the user wants links to name; empty for the page's own choice. */
export const baseField = signal(recallText("base") ?? "");
export const base = computed(() => readBase(baseField.value) ?? shareBase(location));

/** What links and pages say, whatever their size. */
export const told = computed<ShareOptions>(() => {
  const isPart = scope.value === "shown" && filterCount.value > 0;
  return {
    privacy: privacy.value,
    query: isPart ? query.value : null,
    own: query.value.own,
    view: writeView({ state: viewToShare(viewState.value, isPart ? "shown" : "whole"), zoom: zoomToShare() }),
    title: title.value,
  };
});

/**
 * A part of a profile cannot be filtered again by what made it one, and must not tell which DSOs count as own code that are
 * not in it; and there is no second profile in a link.
 */
function viewToShare(state: ViewState, what: "whole" | "shown"): ViewState {
  const { event, direction, group, inlines, unnamed, around } = state.query;
  const shared = what === "whole" ? state.query : { ...DEFAULT_QUERY, event, direction, group, inlines, unnamed, around };
  return { ...state, query: shared, comparison: null };
}

/** Known a moment after the zoom is chosen, and so when the dialog opens. */
function zoomToShare(): readonly string[] {
  const isZoomed = shareOpen.value && zoomRoot.value !== ALL;
  return isZoomed ? (presentPlaces().zoomed?.path ?? []) : [];
}

/** What the user called a profile instead of what it is called already. */
const typedTitle = ofProfile<string | null>(null);

/** What readers see as the profile's name; empty for none, which leaves "Profile from a link". */
export const title = computed(() => typedTitle.value ?? givenTitle());

export function setTitle(text: string): void {
  typedTitle.value = text;
}

/** A file has a name, and a link one if its sender gave it. */
function givenTitle(): string {
  const profile = opened.value;
  const isNamed = profile?.origin === "file" || profile?.origin === "served" || info.value?.title != null;
  return isNamed ? (profile?.name ?? "") : "";
}

/** By budget in characters. */
export const made = signal<ReadonlyMap<number, LinkState>>(new Map());

export const chosen = computed<LinkState>(() => made.value.get(characters.value) ?? { kind: "making", before: null });
export const link = computed(() => (chosen.value.kind === "made" ? `${base.value}#${chosen.value.shared.payload}` : null));

let pending: AbortController | null = null;

/** Makes the links again whenever the dialog is open and what they say has changed. Call once. */
export function followShare(): void {
  // What the links made so far say; another budget does not change it.
  let said: readonly unknown[] = [];
  effect(() => {
    if (!shareOpen.value) {
      void endSharing();
    }
  });
  effect(() => {
    const [address, says] = [base.value, [session.value, base.value, told.value, namesGeneration.value]];
    const first = characters.value;
    pending?.abort();
    if (says.some((each, index) => each !== said[index])) {
      said = says;
      made.value = outdated(made.peek());
    }
    if (shareOpen.value && session.value !== null && shareTab.value === "link") {
      remember("base", readBase(baseField.peek()) === null ? "" : baseField.peek());
      pending = new AbortController();
      void makeAll(first, { base: address, options: told.value }, pending.signal);
    }
  });
}

/** Lets the session forget what would make the next link quick. */
async function endSharing(): Promise<void> {
  try {
    await session.peek()?.call("endSharing", {});
  } catch (error) {
    if (!(error instanceof Cancelled || error instanceof WorkerDied)) {
      throw error;
    }
  }
}

/** Stops making the link that was chosen. */
export function cancelLink(): void {
  pending?.abort();
  made.value = new Map(made.peek()).set(characters.peek(), { kind: "cancelled" });
}

/** Makes it after all. */
export function makeLink(): void {
  const rest = new Map(made.peek());
  rest.delete(characters.peek());
  made.value = rest;
  pending = new AbortController();
  void makeAll(characters.peek(), { base: base.peek(), options: told.peek() }, pending.signal);
}

function outdated(links: ReadonlyMap<number, LinkState>): ReadonlyMap<number, LinkState> {
  const before = (link: LinkState): Shared | null =>
    link.kind === "made" ? link.shared : link.kind === "making" ? link.before : null;
  return new Map([...links].map(([size, link]) => [size, { kind: "making", before: before(link) }]));
}

/** A link of more than this keeps a processor busy so long that it is made only when it is chosen. */
const MADE_UNASKED = 65_536;

/** The chosen budget first, since its link is what the user waits for; whatever is changed stops the others. */
async function makeAll(first: number, request: Omit<ShareRequest, "budget">, signal: AbortSignal): Promise<void> {
  const unasked = BUDGETS.map((each) => each.characters).filter((each) => each <= MADE_UNASKED);
  const isWanted = (size: number): boolean => (made.peek().get(size)?.kind ?? "making") === "making";
  const sizes = new Set([first, ...unasked].filter(isWanted));
  const read = sizes.size === 0 ? null : await readTexts(request.options, { signal });
  if (read === null || signal.aborted) {
    return;
  }
  if (read.kind === "failed") {
    made.value = new Map(made.value).set(first, read);
    return;
  }
  for (const size of sizes) {
    const result = await makeOne({ ...request, budget: Math.min(size, MOST_CHARACTERS) }, { signal });
    if (result === null || signal.aborted) {
      return;
    }
    made.value = new Map(made.value).set(size, result);
  }
}

/** null where it was cancelled, or the worker died and says so itself. */
export function makeOne(request: ShareRequest, options: CallOptions): Promise<LinkState | null> {
  return attempt(async (present) => ({ kind: "made", shared: await present.call("share", request, options) }));
}

/** Reads what links with these options may tell of source and instructions, before any is made. */
export function readTexts(options: ShareOptions, how: CallOptions): Promise<LinkState | null> {
  return attempt(async (present) => {
    await readPlaceTexts(present, options, how);
    return { kind: "making", before: null };
  });
}

async function attempt(work: (present: Session) => Promise<LinkState>): Promise<LinkState | null> {
  const present = session.peek();
  if (present === null) {
    return null;
  }
  try {
    return await work(present);
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

/** Chooses the budget that the number of characters is of its own. */
export function chooseOther(count: number): void {
  otherCharacters.value = Math.min(Math.max(0, Math.floor(count)), MOST_CHARACTERS);
  budget.value = OTHER;
}
