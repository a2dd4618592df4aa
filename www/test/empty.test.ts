import assert from "node:assert/strict";
import { test } from "node:test";
import type { ProfileInfo } from "../src/session/types.ts";
import { ALL } from "../src/session/types.ts";
import { info } from "../src/state/app.ts";
import { emptyWords } from "../src/views/empty.ts";
import type { LaidOutGraph } from "../src/views/flame/stage.ts";

/** What a graph says of an event that was recorded so: a function in which another one is inlined. */
function said(callChains: boolean | null): string | null {
  const event = { name: "cycles", samples: 1, weight: 1, unit: "cycles", part_of: null, call_chains: callChains };
  info.value = { events: [event], derived_events: [] } as unknown as ProfileInfo;
  const laid = { root: ALL, graph: { depths: 4, allTotal: 1 } } as unknown as LaidOutGraph;
  return emptyWords(laid, null)?.text ?? null;
}

test("-g is proposed only where it was not given", () => {
  assert.match(said(false) ?? "", /Record with -g/);
  assert.equal(said(true), null, "no chain happened to be there");
  assert.equal(said(null), null, "a link does not say");
});
