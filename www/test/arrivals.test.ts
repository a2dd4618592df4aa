// When names of files that arrive are shown. The clock is the test's.
import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";
import { Arrivals } from "../src/ledger/arrivals.ts";

let shown: number;
let finish: () => void;
let arrivals: Arrivals;

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout", "Date"] });
  shown = 0;
  arrivals = new Arrivals(() => {
    shown += 1;
    return new Promise((done) => {
      finish = done;
    });
  });
});

/** Lets what waits for a promise go on. */
const settled = (): Promise<void> => new Promise((done) => setImmediate(done));

async function finished(): Promise<void> {
  finish();
  await settled();
}

test("the first file is shown at once, the others together two seconds later", async () => {
  arrivals.fileArrived(0.5);
  assert.equal(shown, 1);
  arrivals.fileArrived(0.1);
  arrivals.fileArrived(0.1);
  await finished();
  assert.equal(shown, 1);
  mock.timers.tick(1999);
  assert.equal(shown, 1);
  mock.timers.tick(1);
  assert.equal(shown, 2);
  await finished();
  mock.timers.tick(10_000);
  assert.equal(shown, 2, "nothing has arrived since");
});

test("after names that took long to show it rests twice as long", async () => {
  arrivals.fileArrived(0.5);
  mock.timers.tick(1500);
  await finished();
  arrivals.fileArrived(0.1);
  mock.timers.tick(2999);
  assert.equal(shown, 1);
  mock.timers.tick(1);
  assert.equal(shown, 2);
});

test("what changes less than a thousandth waits for the next file", async () => {
  arrivals.fileArrived(0.0004);
  mock.timers.tick(10_000);
  assert.equal(shown, 0);
  arrivals.fileArrived(0.0004);
  assert.equal(shown, 0);
  arrivals.fileArrived(0.0004);
  assert.equal(shown, 1, "together they are more");
});

test("when nothing else is to come it is shown at once, however little it is", async () => {
  arrivals.fileArrived(0.5);
  await finished();
  arrivals.fileArrived(0.0004);
  arrivals.allArrived();
  assert.equal(shown, 2);
  await finished();
  arrivals.allArrived();
  mock.timers.tick(10_000);
  assert.equal(shown, 2, "and only once");
});

test("the last file that arrives while names are shown is shown right behind", async () => {
  arrivals.fileArrived(0.5);
  arrivals.fileArrived(0.0001);
  arrivals.allArrived();
  assert.equal(shown, 1);
  await finished();
  assert.equal(shown, 2);
});
