import assert from "node:assert/strict";
import { test } from "node:test";
import type { ViewState } from "../src/state/url.ts";
import { DEFAULT_VIEW_STATE, readFragment, writeFragment } from "../src/state/url.ts";

const STATE: ViewState = {
  view: "tree",
  query: { event: 2, direction: "inverted", group: "none", inlines: "merged" },
  search: "a&b=c #ü",
  order: { key: "name", descending: false },
};

test("an address comes back as it was written", () => {
  for (const payload of [null, "p1.AbC-_9"]) {
    for (const state of [STATE, DEFAULT_VIEW_STATE]) {
      assert.deepEqual(readFragment(writeFragment({ payload, state })), { payload, state });
    }
  }
});

test("what is at its default is not written", () => {
  assert.equal(writeFragment({ payload: null, state: DEFAULT_VIEW_STATE }), "");
  assert.equal(writeFragment({ payload: "p1.x", state: DEFAULT_VIEW_STATE }), "#p1.x");
  assert.equal(writeFragment({ payload: null, state: { ...DEFAULT_VIEW_STATE, view: "functions" } }), "#s1&view=functions");
});

test("a newer payload version is handed on, a newer view version is passed over", () => {
  assert.deepEqual(readFragment("#p7.xyz"), { payload: "p7.xyz", state: DEFAULT_VIEW_STATE });
  assert.deepEqual(readFragment("#p1.xyz&s9&view=tree"), { payload: "p1.xyz", state: DEFAULT_VIEW_STATE });
});

test("what is not understood keeps its default", () => {
  const { payload, state } = readFragment("#s1&view=pie&event=-1&direction=up&group=cpu&inlines=&order=age.up&extra=1");
  assert.equal(payload, null);
  assert.deepEqual({ ...state, order: { ...state.order, descending: true } }, DEFAULT_VIEW_STATE);
  for (const hash of ["", "#", "#top", "#s1&&&=", "#%E0%A4%A"]) {
    assert.deepEqual(readFragment(hash), { payload: null, state: DEFAULT_VIEW_STATE }, hash);
  }
});
