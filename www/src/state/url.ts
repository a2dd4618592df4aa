// What the address says about the page: the profile in a link, and the view on it.
//
//     #p1.PAYLOAD                  a link: the whole profile
//     #p1.PAYLOAD&s2&view=tree     the same, opened on another view
//     #s2&view=functions&search=io a view of whatever is opened next
//
// The payload is base64url, so `&` ends it. `s2` is the version of the view part (query_text.ts has the query's fields);
// `s1`, which knew no filters, is still read. A page that meets another version ignores that part, since the profile
// matters and the view can be found again; the user is told. What is at its default is left out. Call nodes have no place here: their
// numbers change when names arrive, so the zoom lives in the history entry.

import type { FunctionRef, FunctionsOrder, Query } from "../session/types.ts";
import type { Field } from "./query_text.ts";
import { DEFAULT_QUERY, escaped, Fields, readLines, readQuery, unescaped, writeQuery } from "./query_text.ts";

export const VIEWS = ["time-order", "flame", "functions", "tree", "source", "heat-map"] as const;
export type View = (typeof VIEWS)[number];

/** What a row of the functions table stands for: code or who runs it, or what memory accesses were of. */
const CODE_GROUPS = ["function", "file", "dso", "thread"] as const;
const DATA_GROUPS = ["object", "level", "snoop", "tlb", "locked"] as const;
export type CodeGroup = (typeof CODE_GROUPS)[number];
export type DataGroup = (typeof DATA_GROUPS)[number];
export type FunctionGroup = CodeGroup | DataGroup;

export const isOfData = (group: FunctionGroup): group is DataGroup => DATA_GROUPS.some((each) => each === group);

const ORDER_KEYS: readonly FunctionsOrder["key"][] = ["self", "total", "mean", "name", "dso"];

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
  /** Those that it shows below. */
  pinned: readonly number[];
  comparison: ComparisonState | null;
  /** The function whose lines stand beside the functions, or whose code is shown; null while callers and callees do. */
  lines: FunctionRef | null;
}

export const DEFAULT_VIEW_STATE: ViewState = {
  view: "flame",
  query: DEFAULT_QUERY,
  search: "",
  order: { key: "self", descending: true },
  groupBy: "function",
  thread: null,
  pinned: [],
  comparison: null,
  lines: null,
};

export interface Address {
  /** `p1.…` or a version that this page does not know; null where the address holds no profile. */
  payload: string | null;
  state: ViewState;
}

/** An address as it was read. */
export interface ReadAddress extends Address {
  /** What in it this page does not know, or is cut off, as it stands there. */
  passedOver: string[];
}

/** Beyond this, nobody wrote it by using the page. */
const LONGEST_STATE = 262_144;
/** More would have no room. */
export const MOST_PINNED = 5;
const DEEPEST_ZOOM = 1024;

/** Reads `location.hash`, with or without its `#`. What is not understood keeps its default. */
export function readFragment(hash: string): ReadAddress {
  const text = hash.startsWith("#") ? hash.slice(1) : hash;
  const end = text.indexOf("&");
  const head = end === -1 ? text : text.slice(0, end);
  if (/^p\d+\./.test(head)) {
    return { payload: head, ...readVersion(end === -1 ? "" : text.slice(end + 1)) };
  }
  return { payload: null, ...readVersion(text) };
}

/** The fragment for an address, with its `#`; empty where there is nothing to say. */
export function writeFragment({ payload, state }: Address): string {
  const view = writeView({ state, zoom: [] });
  const parts = [...(payload === null ? [] : [payload]), ...(view === "" ? [] : ["s2", view])];
  return parts.length > 0 ? `#${parts.join("&")}` : "";
}

/** Whether the fragment of an address says how the profile is looked at; a link alone leaves that to what is in it. */
export function saysView({ state }: Address): boolean {
  return writeState(state).length > 0;
}

/** A view as a link holds it, for whoever opens it. */
export interface SharedView {
  state: ViewState;
  /** Texts on the way to the call that the flame graph is zoomed into, from the first level down. */
  zoom: readonly string[];
}

/** What stands behind `s2&` in an address, and the zoom, which an address leaves to the entry of the history. */
export function writeView({ state, zoom }: SharedView): string {
  const fields = writeState(state);
  const all: Field[] = zoom.length === 0 ? fields : [...fields, ["zoom", zoom.map(escaped).join(",")]];
  return all.map(([name, value]) => `${name}=${value}`).join("&");
}

/** Reads it again, as sceptically as an address. */
export function readView(text: string): SharedView {
  const [, zoom = ""] = /(?:^|&)zoom=([^&]*)/.exec(text.slice(0, LONGEST_STATE)) ?? [];
  const path = zoom.split(",", DEEPEST_ZOOM).map(unescaped);
  return {
    state: readVersion(`s2&${text}`).state,
    zoom: zoom === "" || path.includes(null) ? [] : path.filter((part) => part !== null),
  };
}

type ReadState = Omit<ReadAddress, "payload">;

function readVersion(text: string): ReadState {
  const [version = "", ...fields] = text.length > LONGEST_STATE ? [text] : text.split("&");
  switch (version) {
    case "s1":
      // Written as forms are: `+` is a space there.
      return readState([...new URLSearchParams(fields.join("&"))].map(([name, value]) => [name, escaped(value)]));
    case "s2":
      return readState(
        fields.map((field) => {
          const equals = field.indexOf("=");
          return equals === -1 ? [field, ""] : [field.slice(0, equals), field.slice(equals + 1)];
        }),
      );
    default:
      return { state: DEFAULT_VIEW_STATE, passedOver: text === "" ? [] : [text] };
  }
}

function readState(given: readonly Field[]): ReadState {
  const base = DEFAULT_VIEW_STATE;
  const fields = new Fields(given);
  const state: ViewState = {
    view: fields.choose("view", VIEWS, base.view),
    query: readQuery(fields),
    lines: readLines(fields),
    search: fields.read("search", base.search, unescaped),
    order: fields.read("order", base.order, readOrder),
    groupBy: fields.choose("by", [...CODE_GROUPS, ...DATA_GROUPS], base.groupBy),
    comparison: fields.read("compare", base.comparison, readComparison),
    thread: fields.read("thread", base.thread, readThread),
    pinned: fields.read("pinned", base.pinned, readPinned),
  };
  return { state, passedOver: fields.passedOver };
}

/** "name.up" */
function readOrder(text: string): FunctionsOrder | null {
  const [written, way] = text.split(".");
  const key = ORDER_KEYS.find((each) => each === written);
  return key === undefined || (way !== "up" && way !== "down") ? null : { key, descending: way === "down" };
}

function readThread(text: string): number | null {
  return /^\d{1,10}$/.test(text) && Number(text) <= 0xffffffff ? Number(text) : null;
}

function readPinned(text: string): readonly number[] | null {
  const tids = text.split(",", MOST_PINNED).map(readThread);
  return tids.includes(null) ? null : [...new Set(tids.filter((tid) => tid !== null))];
}

/** "rest.share.after", "rest.raw.both.swapped" */
function readComparison(text: string): ComparisonState | null {
  const [other, basis, width, order] = text.split(".");
  return other !== "rest" && other !== "second"
    ? null
    : {
        with: other,
        order: order === "swapped" ? "swapped" : "plain",
        basis: BASES.find((each) => each === basis) ?? "share",
        width: WIDTHS.find((each) => each === width) ?? "after",
      };
}

function writeComparison(state: ComparisonState | null): string {
  return state === null
    ? ""
    : [state.with, state.basis, state.width, ...(state.order === "swapped" ? ["swapped"] : [])].join(".");
}

function writeState(state: ViewState): Field[] {
  const base = DEFAULT_VIEW_STATE;
  const order = ({ key, descending }: FunctionsOrder): string => `${key}.${descending ? "down" : "up"}`;
  const fields: Field[] = [
    ["view", state.view === base.view ? "" : state.view],
    ...writeQuery(state.query, state.lines),
    ["search", escaped(state.search)],
    ["order", order(state.order) === order(base.order) ? "" : order(state.order)],
    ["by", state.groupBy === base.groupBy ? "" : state.groupBy],
    ["thread", state.thread === null ? "" : String(state.thread)],
    ["pinned", state.pinned.join(",")],
    ["compare", writeComparison(state.comparison)],
  ];
  return fields.filter(([, value]) => value !== "");
}
