// What the address says about the page: the profile in a link, and the view on it.
//
//     #p1.PAYLOAD                  a link: the whole profile
//     #p1.PAYLOAD&s1&view=tree     the same, opened on another view
//     #s1&view=functions&search=io a view of whatever is opened next
//
// The payload is base64url, so `&` ends it. `s1` is the version of the view part: a page that meets another version
// ignores that part, since the profile matters and the view can be found again. What is at its default is left out.
// Call nodes have no place here: their numbers change when names arrive, so the zoom lives in the history entry.

import type { FunctionsOrder, Query } from "../session/types.ts";

export type View = "flame" | "functions" | "tree";

/** The part of the page's state that a link may carry. */
export interface ViewState {
  view: View;
  query: Query;
  search: string;
  order: FunctionsOrder;
}

export const DEFAULT_VIEW_STATE: ViewState = {
  view: "flame",
  query: { event: 0, direction: "callees", group: "process", inlines: "shown" },
  search: "",
  order: { key: "self", descending: true },
};

export interface Address {
  /** `p1.…` or a version that this page does not know; null where the address holds no profile. */
  payload: string | null;
  state: ViewState;
}

/** Reads `location.hash`, with or without its `#`. What is not understood keeps its default. */
export function readFragment(hash: string): Address {
  const text = hash.startsWith("#") ? hash.slice(1) : hash;
  const [head = "", ...rest] = text.split("&");
  if (/^p\d+\./.test(head)) {
    return { payload: head, state: rest[0] === "s1" ? readState(rest.slice(1)) : DEFAULT_VIEW_STATE };
  }
  return { payload: null, state: head === "s1" ? readState(rest) : DEFAULT_VIEW_STATE };
}

/** The fragment for an address, with its `#`; empty where there is nothing to say. */
export function writeFragment({ payload, state }: Address): string {
  const fields = writeState(state);
  const parts = [...(payload === null ? [] : [payload]), ...(fields.length > 0 ? ["s1", ...fields] : [])];
  return parts.length > 0 ? `#${parts.join("&")}` : "";
}

function readState(fields: string[]): ViewState {
  const values = new URLSearchParams(fields.join("&"));
  const base = DEFAULT_VIEW_STATE;
  const choose = <T extends string>(name: string, choices: readonly T[], fallback: T): T =>
    choices.find((choice) => choice === values.get(name)) ?? fallback;
  const event = Number(values.get("event") ?? base.query.event);
  const [key, way] = (values.get("order") ?? "").split(".");
  const keys: FunctionsOrder["key"][] = ["self", "total", "name", "dso"];
  return {
    view: choose("view", ["flame", "functions", "tree"], base.view),
    query: {
      event: Number.isSafeInteger(event) && event >= 0 ? event : base.query.event,
      direction: choose("direction", ["callees", "inverted"], base.query.direction),
      group: choose("group", ["process", "thread", "none"], base.query.group),
      inlines: choose("inlines", ["shown", "merged"], base.query.inlines),
    },
    search: values.get("search") ?? base.search,
    order: {
      key: keys.find((known) => known === key) ?? base.order.key,
      descending: way === "up" ? false : base.order.descending,
    },
  };
}

function writeState(state: ViewState): string[] {
  const fields = new URLSearchParams();
  const base = DEFAULT_VIEW_STATE;
  const put = (name: string, value: string, fallback: string): void => {
    if (value !== fallback) {
      fields.set(name, value);
    }
  };
  const order = ({ key, descending }: FunctionsOrder): string => `${key}.${descending ? "down" : "up"}`;
  put("view", state.view, base.view);
  put("event", String(state.query.event), String(base.query.event));
  put("direction", state.query.direction, base.query.direction);
  put("group", state.query.group, base.query.group);
  put("inlines", state.query.inlines, base.query.inlines);
  put("search", state.search, base.search);
  put("order", order(state.order), order(base.order));
  const text = fields.toString();
  return text === "" ? [] : text.split("&");
}
