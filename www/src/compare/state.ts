// What is compared: a second profile with the first, or a range with the rest of one. The sides are queries that all of
// the comparison's views share; each has its own place for a selection and a zoom, since its call nodes are of no other
// tree.

import { batch, computed, signal } from "@preact/signals";
import { answerTo } from "../session/ask.ts";
import type { CompareRequest, Coverage, EventInfo, ProfileInfo, ProfileSlot, Query, SideTotal } from "../session/types.ts";
import { ALL } from "../session/types.ts";
import type { Selection } from "../state/app.ts";
import { comparison, coverage, event, events, namesGeneration, opened, query, session } from "../state/app.ts";
import { step } from "../state/history.ts";
import type { ComparisonState } from "../state/url.ts";
import { secondSide } from "./sides.ts";

/** The profile beside the one that is open. */
export interface SecondProfile {
  name: string;
  bytes: number | null;
  info: ProfileInfo;
  /** null until it was asked. */
  coverage: Coverage | null;
}

export const second = signal<SecondProfile | null>(null);

export type ChangeKey = "self" | "total";
export type ChangeOrder = "increase" | "decrease" | "either" | "before" | "after" | "name";

/** The table of changes: what is compared, and its order. */
export const changeKey = signal<ChangeKey>("self");
export const changeOrder = signal<ChangeOrder>("increase");

export const comparedSelection = signal<Selection | null>(null);
export const comparedZoom = signal<number>(ALL);
/** What is on the screen; an address may name a second profile that is not here. */
export const comparing = computed<ComparisonState | null>(() => {
  const wanted = comparison.value;
  const isHere = wanted?.with === "second" ? second.value !== null : query.value.range?.side === "inside";
  return isHere ? wanted : null;
});

export const DEFAULT_COMPARISON: Omit<ComparisonState, "with"> = { order: "plain", basis: "share", width: "after" };

/** A side by its name and what is known of it. */
export interface SideWords {
  name: string;
  bytes: number | null;
  /** Of a profile of its own; null for a part of one. */
  coverage: Coverage | null;
}

/** Before and after as they came; swapped they change places. */
export const sideWords = computed<readonly [SideWords, SideWords] | null>(() => {
  const wanted = comparing.value;
  const file = opened.value;
  if (wanted === null || file === null) {
    return null;
  }
  const sides: [SideWords, SideWords] =
    wanted.with === "second"
      ? [
          { name: file.name, bytes: file.bytes, coverage: coverage.value },
          {
            name: second.value?.name ?? "",
            bytes: second.value?.bytes ?? null,
            coverage: second.value?.coverage ?? null,
          },
        ]
      : [
          { name: "The rest", bytes: null, coverage: null },
          { name: "The range", bytes: null, coverage: null },
        ];
  return inOrder(sides, wanted);
});

function inOrder<T>([one, other]: readonly [T, T], { order }: ComparisonState): [T, T] {
  return order === "plain" ? [one, other] : [other, one];
}

/** What each of two profiles is called where files are said to be of one of them; null while there is one. */
export const roles = computed<Record<ProfileSlot, string> | null>(() => {
  if (second.value === null) {
    return null;
  }
  if (comparing.value?.with !== "second") {
    return { first: opened.value?.name ?? "the first", second: second.value.name };
  }
  const [first, other] = inOrder(["Before", "After"], comparing.value);
  return { first: first as string, second: other as string };
});

/** The events that both sides have, by the first's numbers. */
export const commonEvents = computed<readonly { event: EventInfo; index: number }[]>(() => {
  const theirs = second.value === null ? null : allEvents(second.value.info).map(({ counted }) => counted);
  const isCommon = ({ counted }: EventInfo): boolean =>
    comparing.value?.with !== "second" || theirs === null || theirs.includes(counted);
  return events.value.flatMap((each, index) => (isCommon(each) ? [{ event: each, index }] : []));
});

function allEvents({ events, derived_events }: ProfileInfo): EventInfo[] {
  return [...events, ...derived_events];
}

/** What is asked of both; null while nothing is compared, and where the second has no such event. */
export const request = computed<CompareRequest | null>(() => {
  const wanted = comparing.value;
  const asked = query.value;
  if (wanted === null) {
    return null;
  }
  if (wanted.with === "rest") {
    const { range } = asked;
    if (range === null) {
      return null;
    }
    const rest: Query = { ...asked, around: null, range: { ...range, side: "outside" } };
    const within: Query = { ...asked, around: null };
    const [before, after] = inOrder([rest, within], wanted);
    return { before: { which: "first", query: before }, after: { which: "first", query: after } };
  }
  if (secondQuery.value === null) {
    return null;
  }
  const sides: [CompareRequest["before"], CompareRequest["before"]] = [
    { which: "first", query: { ...asked, around: null } },
    { which: "second", query: secondQuery.value.query },
  ];
  const [before, after] = inOrder(sides, wanted);
  return { before, after };
});

/** What each side has in all: before, after; null until the session has said it. */
export const comparedSides = answerTo<readonly [SideTotal, SideTotal]>(() => {
  void namesGeneration.value;
  const [asking, asked] = [session.value, request.value];
  return asking === null || asked === null ? null : ({ signal }) => asking.call("comparedSides", { request: asked }, { signal });
});

/** The second profile's number of the event that is shown; -1 where none counts the same. */
const secondEvent = computed(() => {
  const profile = second.value?.info;
  const shown = event.value;
  if (profile === undefined || shown === null) {
    return -1;
  }
  const theirs = allEvents(profile);
  const same = theirs.findIndex(({ name }) => name === shown.name);
  return same === -1 ? theirs.findIndex(({ counted }) => counted === shown.counted) : same;
});

/** What the second profile is asked; null while there is none, and where it has no such event. */
export const secondQuery = computed(() => {
  const profile = second.value?.info;
  const event = secondEvent.value;
  return profile === undefined || event === -1 ? null : secondSide(query.value, event, profile.dsos);
});

/** How a comparison is looked at, as the session knows it. */
export const compareView = computed(
  () =>
    ({
      basis: comparing.value?.basis ?? "share",
      width: comparing.value?.width ?? "after",
    }) as const,
);

/** Whether there are times to count by. */
export const hasTimes = computed(() => comparedSides.value?.every(({ seconds }) => seconds > 0) ?? true);

/** Changes how two sides are compared, as one step that Back undoes. Other trees, other call nodes. */
export function setComparison(change: Partial<ComparisonState>): void {
  const before = comparison.peek();
  if (before !== null) {
    step(() => {
      comparison.value = { ...before, ...change };
      if (change.order !== undefined) {
        forgetPlaces();
      }
    });
  }
}

export function swapSides(): void {
  setComparison({ order: comparison.peek()?.order === "swapped" ? "plain" : "swapped" });
}

/** Call nodes of one comparison mean nothing in another. */
export function forgetPlaces(): void {
  batch(() => {
    comparedSelection.value = null;
    comparedZoom.value = ALL;
  });
}

/** The range that is chosen beside everything else: what is special about it. */
export function compareWithRest(): void {
  if (query.peek().range !== null) {
    step(() => {
      forgetPlaces();
      comparison.value = { ...DEFAULT_COMPARISON, with: "rest" };
    });
  }
}

/** Shows one profile again. The second one stays, to be compared again. */
export function stopComparing(): void {
  if (comparison.peek() !== null) {
    step(() => {
      comparison.value = null;
    });
  }
}

/** Whether the address can say all of it: a second file is not in it. */
export const isInAddress = computed(() => comparing.value?.with === "rest");
