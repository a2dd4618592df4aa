import assert from "node:assert/strict";
import { test } from "node:test";
import { takingOver } from "../src/state/take_over.ts";

/** Work that ends when it is told to, or when it is cancelled. */
function work(name: string, said: string[]) {
  let finish = (): void => undefined;
  const run = ({ signal }: AbortController): Promise<void> =>
    new Promise((resolve, reject) => {
      said.push(`${name} begins`);
      finish = () => {
        said.push(`${name} ends`);
        resolve();
      };
      signal.addEventListener("abort", () => {
        said.push(`${name} cancelled`);
        reject(new Error(name));
      });
    });
  return { run, finish: () => finish() };
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("of two opens at once the last that began wins, whichever is quicker", async () => {
  const said: string[] = [];
  const begin = takingOver<void>();
  const [slow, quick] = [work("slow", said), work("quick", said)];
  const first = assert.rejects(begin(slow.run), /slow/);
  await settle();
  const second = begin(quick.run);
  await settle();
  quick.finish();
  slow.finish();
  await Promise.all([first, second]);
  assert.deepEqual(said.slice(0, 4), ["slow begins", "slow cancelled", "quick begins", "quick ends"]);
});

test("what came and went while another ended is not begun", async () => {
  const said: string[] = [];
  const begin = takingOver<void>();
  const [one, two, three] = [work("one", said), work("two", said), work("three", said)];
  const first = assert.rejects(begin(one.run), /one/);
  await settle();
  const others = [begin(two.run), begin(three.run)];
  await settle();
  three.finish();
  await Promise.all([first, ...others]);
  assert.deepEqual(said, ["one begins", "one cancelled", "three begins", "three ends"]);
});
