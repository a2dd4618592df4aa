// What becomes of a second profile that is still being read when another first one is opened.

import assert from "node:assert/strict";
import { test } from "node:test";
import { compareWithRecording, forgetSecond } from "../src/compare/second.ts";
import { second } from "../src/compare/state.ts";
import type { Session } from "../src/session/client.ts";
import type { ProfileInfo } from "../src/session/types.ts";
import type { OpenedProfile } from "../src/state/app.ts";
import { comparison, opened, session } from "../src/state/app.ts";
import { tasks } from "../src/state/app.ts";

const profile = (name: string): OpenedProfile => ({ name, bytes: 1, origin: "file", when: 0, modified: null, trusted: null });
const INFO = { dsos: [], events: [], derived_events: [], warnings: [] } as unknown as ProfileInfo;

/** A session that reads a second profile until it is told to have done so, whatever was aborted meanwhile. */
function slow(): { done: () => void; asked: string[] } {
  const asked: string[] = [];
  let done: () => void = () => {};
  const read = new Promise<void>((resolve) => {
    done = resolve;
  });
  const call = async (name: string): Promise<unknown> => {
    asked.push(name);
    if (name === "openSecond") {
      await read;
    }
    return INFO;
  };
  session.value = { call, generation: 0 } as unknown as Session;
  return { done: () => done(), asked };
}

const file = { name: "after.data", parts: [], handles: [] } as unknown as Parameters<typeof compareWithRecording>[0];

test("a profile that is read while another one is opened is not compared with that one", async () => {
  opened.value = profile("before.data");
  const { done, asked } = slow();
  const reading = compareWithRecording(file);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(asked, ["openSecond"]);
  // Cancel is pressed for whoever opens another one.
  opened.value = profile("other.data");
  forgetSecond();
  done();
  await reading;
  assert.equal(second.value, null);
  assert.equal(comparison.value, null);
  assert.deepEqual(asked, ["openSecond"]);
  assert.deepEqual(tasks.value, []);
});
