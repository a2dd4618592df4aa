import assert from "node:assert/strict";
import { test } from "node:test";
import { Slots } from "../src/ledger/slots.ts";
import { Cancelled } from "../src/session/client.ts";

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("so many at a time, in order, and whoever is cancelled leaves the queue", async () => {
  const slots = new Slots(2);
  const begun: number[] = [];
  const ends = new Map<number, { end: () => void; fail: (error: Error) => void }>();
  const aborts = [0, 1, 2, 3, 4].map(() => new AbortController());
  const all = aborts.map(({ signal }, number) =>
    slots.take(signal, () => {
      begun.push(number);
      return new Promise<number>((end, fail) => ends.set(number, { end: () => end(number), fail }));
    }),
  );
  await settle();
  assert.deepEqual(begun, [0, 1]);
  aborts[2]?.abort();
  await assert.rejects(all[2] as Promise<number>, Cancelled);
  ends.get(1)?.end();
  assert.equal(await all[1], 1);
  await settle();
  assert.deepEqual(begun, [0, 1, 3]);
  // Work that fails gives its turn on, too.
  const failed = assert.rejects(all[0] as Promise<number>, /broken/);
  ends.get(0)?.fail(new Error("broken"));
  await failed;
  await settle();
  assert.deepEqual(begun, [0, 1, 3, 4]);
  // Cancelled later, it is the work's own business.
  aborts[3]?.abort();
  ends.get(3)?.end();
  assert.equal(await all[3], 3);
  const late = new AbortController();
  late.abort();
  await assert.rejects(
    slots.take(late.signal, async () => 5),
    Cancelled,
  );
});
