// What the entries of the browser's history say.

import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { functionsGroup, groupBy, search } from "../src/state/app.ts";
import { followHistory, step } from "../src/state/history.ts";

test("a step leaves the entry before it as it was, however long ago that was written", () => {
  const entries = ["/"];
  const replace = (address: string): void => {
    entries[entries.length - 1] = address;
  };
  const history = {
    state: null,
    pushState: (_entry: unknown, _title: string, address: string) => entries.push(address),
    replaceState: (_entry: unknown, _title: string, address: string) => replace(address),
  };
  const window = { addEventListener: (): void => {} };
  Object.assign(globalThis, { history, window, location: { hash: "", pathname: "/", search: "" } });
  let now = 0;
  mock.method(performance, "now", () => now);

  followHistory();
  now = 10_000;
  step(() => groupBy("dso"));
  assert.equal(entries.length, 2);
  assert.doesNotMatch(entries[0] ?? "", /by=dso/);
  assert.match(entries[1] ?? "", /by=dso/);
  assert.equal(functionsGroup.value, "dso");

  // What is no step is said by the present entry.
  now = 20_000;
  search.value = "tides";
  assert.equal(entries.length, 2);
  assert.match(entries[1] ?? "", /tides/);
});
