// What may be told: ticks, patterns, and the list of what a link holds.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { SharedTexts } from "../src/session/types.ts";
import {
  charactersOf,
  isIncluded,
  linesOf,
  privacy,
  rename,
  renamedIn,
  renames,
  setIncluded,
  TICKS,
} from "../src/share/privacy.ts";

const TEXTS: SharedTexts = {
  parts: [
    { part: "process", texts: ["nginx", "worker"], renamed: [] },
    { part: "own-function", texts: ["hidden-1", "main"], renamed: [{ index: 0, was: "secret" }] },
  ],
  profile: { folders: 3, identities: 2, arguments: 4, lines: 0, instructions: 7, host: 0 },
};

test("nothing of the machine is told unasked, and a tick changes one part", () => {
  const untold = () =>
    Object.entries(privacy.value)
      .filter(([, value]) => value === "left-out")
      .map(([part]) => part);
  assert.deepEqual(untold(), ["folders", "source", "assembly", "commandLine", "host"]);
  setIncluded("folders", true);
  setIncluded("dsos", false);
  assert.deepEqual(untold(), ["dsos", "source", "assembly", "commandLine", "host"]);
  assert.ok(isIncluded("folders") && !isIncluded("dsos"));
  setIncluded("folders", false);
  setIncluded("dsos", true);
  assert.deepEqual(untold(), ["folders", "source", "assembly", "commandLine", "host"]);
});

test("there is always one empty pattern to write in, and empty ones are not asked for", () => {
  const patterns = (): string[] => renames.value.map(({ pattern }) => pattern);
  rename(0, { pattern: "a", text: "" });
  assert.deepEqual(patterns(), ["a", ""]);
  rename(1, { pattern: "b", text: "c" });
  assert.deepEqual(patterns(), ["a", "b", ""]);
  assert.deepEqual(privacy.value.renames, [
    { pattern: "a", text: "" },
    { pattern: "b", text: "c" },
  ]);
  rename(0, { pattern: "", text: "" });
  assert.deepEqual(privacy.value.renames, [{ pattern: "b", text: "c" }]);
  rename(patterns().indexOf("b"), { pattern: "", text: "" });
  assert.deepEqual(privacy.value.renames, []);
});

test("the list has every text under its part, with what it was", () => {
  assert.deepEqual(linesOf(TEXTS), [
    { kind: "part", name: "Processes and threads", count: 2 },
    { kind: "text", text: "nginx", was: null },
    { kind: "text", text: "worker", was: null },
    { kind: "part", name: "Functions in own code", count: 2 },
    { kind: "text", text: "hidden-1", was: "secret" },
    { kind: "text", text: "main", was: null },
  ]);
  assert.equal(charactersOf(TEXTS), 23);
  assert.equal(renamedIn(TEXTS), 1);
  const counts = Object.fromEntries(TICKS.map(({ part, count }) => [part, count(TEXTS)]));
  assert.deepEqual([counts.ownFunctions, counts.systemFunctions, counts.folders, counts.commandLine], [2, 0, 3, 1]);
});
