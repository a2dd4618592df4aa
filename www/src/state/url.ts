// What the address says about the page: the profile in a link, and the view on it.
//
//     #p1.PAYLOAD                  a link: the whole profile
//     #p1.PAYLOAD&s2&view=tree     the same, opened on another view
//     #s2&view=functions&search=io a view of whatever is opened next
//
// The payload is base64url, so `&` ends it. `s2` is the version of the view part (query_text.ts has the query's fields);
// `s1`, which knew no filters, is still read. A page that meets another version ignores that part, since the profile
// matters and the view can be found again. What is at its default is left out. Call nodes have no place here: their
// numbers change when names arrive, so the zoom lives in the history entry.

import type { FunctionsOrder, Query } from "../session/types.ts";
import type { Field } from "./query_text.ts";
import { DEFAULT_QUERY, escaped, readQuery, unescaped, writeQuery } from "./query_text.ts";

export const VIEWS = ["time-order", "flame", "functions", "tree", "heat-map"] as const;
export type View = (typeof VIEWS)[number];

/** What a row of the functions table stands for. */
export const FUNCTION_GROUPS = ["function", "file", "dso", "thread"] as const;
export type FunctionGroup = (typeof FUNCTION_GROUPS)[number];

const ORDER_KEYS: readonly FunctionsOrder["key"][] = ["self", "total", "name", "dso"];

export const BASES = ["share", "per-second", "raw"] as const;
export const WIDTHS = ["before", "after", "both"] as const;

/** What is compared with what, and how it is looked at. */
export interface ComparisonState {
  /** A second profile, or what lies outside the range. */
  with: "second" | "rest";
  /** As it came, or the other way round. */
  order: "plain" | "swapped";
  basis: (typeof BASES)[number];
  /** Whose weights are widths. */
  width: (typeof WIDTHS)[number];
}

/** The part of the page's state that a link may carry. */
export interface ViewState {
  view: View;
  query: Query;
  search: string;
  order: FunctionsOrder;
  groupBy: FunctionGroup;
  /** The thread that the time order shows, by its tid; null for the heaviest. */
  thread: number | null;
  comparison: ComparisonState | null;
}

export const DEFAULT_VIEW_STATE: ViewState = {
  view: "flame",
  query: DEFAULT_QUERY,
  search: "",
  order: { key: "self", descending: true },
  groupBy: "function",
  thread: null,
  comparison: null,
};

export interface Address {
  /** `p1.…` or a version that this page does not know; null where the address holds no profile. */
  payload: string | null;
  state: ViewState;
}

/** Beyond this, nobody wrote it by using the page. */
const LONGEST_STATE = 262_144;

/** Reads `location.hash`, with or without its `#`. What is not understood keeps its default. */
export function readFragment(hash: string): Address {
  const text = hash.startsWith("#") ? hash.slice(1) : hash;
  const end = text.indexOf("&");
  const head = end === -1 ? text : text.slice(0, end);
  if (/^p\d+\./.test(head)) {
    return { payload: head, state: end === -1 ? DEFAULT_VIEW_STATE : readVersion(text.slice(end + 1)) };
  }
  return { payload: null, state: readVersion(text) };
}

/** The fragment for an address, with its `#`; empty where there is nothing to say. */
export function writeFragment({ payload, state }: Address): string {
  const fields = writeState(state).map(([name, value]) => `${name}=${value}`);
  const parts = [...(payload === null ? [] : [payload]), ...(fields.length > 0 ? ["s2", ...fields] : [])];
  return parts.length > 0 ? `#${parts.join("&")}` : "";
}

function readVersion(text: string): ViewState {
  if (text.length > LONGEST_STATE) {
    return DEFAULT_VIEW_STATE;
  }
  const [version, ...fields] = text.split("&");
  switch (version) {
    case "s1":
      // Written as forms are: `+` is a space there.
      return readState([...new URLSearchParams(fields.join("&"))].map(([name, value]) => [name, escaped(value)]));
    case "s2":
      return readState(fields.map((field) => {
        const equals = field.indexOf("=");
        return equals === -1 ? [field, ""] : [field.slice(0, equals), field.slice(equals + 1)];
      }));
    default:
      return DEFAULT_VIEW_STATE;
  }
}

function readState(fields: readonly Field[]): ViewState {
  const base = DEFAULT_VIEW_STATE;
  const value = (name: string): string | null => unescaped(fields.find(([each]) => each === name)?.[1] ?? "");
  const choose = <T extends string>(choices: readonly T[], text: string | null | undefined, fallback: T): T =>
    choices.find((choice) => choice === text) ?? fallback;
  const [key, way] = (value("order") ?? "").split(".");
  const thread = value("thread") ?? "";
  return {
    view: choose(VIEWS, value("view"), base.view),
    query: readQuery(fields),
    search: value("search") ?? base.search,
    order: {
      key: choose(ORDER_KEYS, key, base.order.key),
      descending: way === "up" ? false : base.order.descending,
    },
    groupBy: choose(FUNCTION_GROUPS, value("by"), base.groupBy),
    comparison: readComparison(value("compare") ?? ""),
    thread: /^\d{1,10}$/.test(thread) && Number(thread) <= 0xffffffff ? Number(thread) : base.thread,
  };
}

/** "rest.share.after", "rest.raw.both.swapped" */
function readComparison(text: string): ComparisonState | null {
  const [other, basis, width, order] = text.split(".");
  return other !== "rest" && other !== "second" ? null : {
    with: other,
    order: order === "swapped" ? "swapped" : "plain",
    basis: BASES.find((each) => each === basis) ?? "share",
    width: WIDTHS.find((each) => each === width) ?? "after",
  };
}

function writeComparison(state: ComparisonState | null): string {
  return state === null ? "" : [state.with, state.basis, state.width, ...(state.order === "swapped" ? ["swapped"] : [])].join(".");
}

function writeState(state: ViewState): Field[] {
  const base = DEFAULT_VIEW_STATE;
  const order = ({ key, descending }: FunctionsOrder): string => `${key}.${descending ? "down" : "up"}`;
  const fields: Field[] = [
    ["view", state.view === base.view ? "" : state.view],
    ...writeQuery(state.query),
    ["search", escaped(state.search)],
    ["order", order(state.order) === order(base.order) ? "" : order(state.order)],
    ["by", state.groupBy === base.groupBy ? "" : state.groupBy],
    ["thread", state.thread === null ? "" : String(state.thread)],
    ["compare", writeComparison(state.comparison)],
  ];
  return fields.filter(([, value]) => value !== "");
}
