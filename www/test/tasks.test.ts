// Work that is under way: what is said of it, and what Cancel does.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { CallOptions } from "../src/session/client.ts";
import { tasks } from "../src/state/app.ts";
import { describeProgress, runTask, shownTask } from "../src/state/tasks.ts";

const said = (): string[] => tasks.value.map(({ label, progress }) => describeProgress(label, progress));

test("what is cancelled says so until it has ended, whatever still arrives of it", async () => {
  let options: Required<CallOptions> | null = null;
  let end: (() => void) | undefined;
  const work = runTask("Comparing", (given) => {
    options = given;
    return new Promise<void>((done) => (end = done));
  });
  const given = options as unknown as Required<CallOptions>;
  assert.deepEqual(said(), ["Comparing"]);
  given.onProgress({ stage: "reading", done: 1_000_000, total: 2_000_000 });
  assert.match(said()[0] ?? "", /^Reading 1/);
  tasks.value[0]?.cancel?.();
  assert.ok(given.signal.aborted);
  given.onProgress({ stage: "reading", done: 1_500_000, total: 2_000_000 });
  assert.deepEqual(said(), ["Cancelling"]);
  assert.equal(tasks.value[0]?.cancel, null);
  end?.();
  await work;
  assert.deepEqual(said(), []);
});

test("of several the one that began first is shown until it has ended", async () => {
  const ends: (() => void)[] = [];
  const begin = (label: string): Promise<void> => runTask(label, () => new Promise<void>((done) => ends.push(done)));
  const [reading, laying] = [begin("Reading"), begin("Laying out")];
  assert.equal(shownTask.value?.label, "Reading");
  ends[0]?.();
  await reading;
  assert.equal(shownTask.value?.label, "Laying out");
  ends[1]?.();
  await laying;
  assert.equal(shownTask.value, undefined);
});
