import assert from "node:assert/strict";
import { test } from "node:test";
import type { Port } from "../src/session/client.ts";
import { Cancelled, SessionClient, SessionError, WorkerDied } from "../src/session/client.ts";
import type { Progress, Reply, Request } from "../src/session/types.ts";

/** A worker that answers when the test says so. */
class FakePort implements Port {
  onmessage: Port["onmessage"] = null;
  onerror: Port["onerror"] = null;
  terminated = false;
  readonly sent: Request[] = [];
  postMessage(message: Request): void {
    this.sent.push(message);
  }
  terminate(): void {
    this.terminated = true;
  }
  reply(data: Reply): void {
    this.onmessage?.({ data } as MessageEvent<Reply>);
  }
}

function start(): { port: FakePort; client: SessionClient; deaths: string[] } {
  const port = new FakePort();
  const deaths: string[] = [];
  return { port, client: new SessionClient(port, (message) => deaths.push(message)), deaths };
}

test("answers find their calls in any order", async () => {
  const { port, client } = start();
  const [first, second] = [client.call("memory", {}), client.call("memory", {})];
  port.reply({ id: 2, ok: 22 });
  port.reply({ id: 1, ok: 11 });
  assert.deepEqual(await Promise.all([first, second]), [11, 22]);
});

test("whoever waits for all answers hears of the last one, a failure too", async () => {
  const { port, client } = start();
  await client.answered();
  const [first, second] = [client.call("memory", {}), client.call("memory", {})];
  assert.equal(client.asked, 2);
  let heard = 0;
  const waits = client.answered().then(() => heard++);
  port.reply({ id: 1, ok: 1 });
  await first;
  assert.equal(heard, 0);
  port.reply({ id: 2, error: { kind: "decode", message: "record size 0", offset: 61 } });
  await Promise.all([waits, assert.rejects(second, SessionError)]);
  assert.equal(heard, 1);
});

test("progress reaches the call that it is of, and a failure keeps its place", async () => {
  const { port, client } = start();
  const seen: Progress[] = [];
  const call = client.call("info", {}, { onProgress: (progress) => seen.push(progress) });
  port.reply({ id: 1, progress: { stage: "reading", done: 1, total: 2 } });
  port.reply({ id: 9, progress: { stage: "reading", done: 2 } });
  port.reply({ id: 1, error: { kind: "decode", message: "record size 0", offset: 61 } });
  await assert.rejects(call, (error) => error instanceof SessionError && error.failure.offset === 61);
  assert.deepEqual(seen, [{ stage: "reading", done: 1, total: 2 }]);
});

test("a cancelled call rejects at once, tells the worker, and a late answer is ignored", async () => {
  const { port, client } = start();
  const abort = new AbortController();
  const call = client.call("info", {}, { signal: abort.signal });
  abort.abort();
  await assert.rejects(call, Cancelled);
  assert.deepEqual(port.sent.at(-1), { type: "cancel", id: 1 });
  port.reply({ id: 1, ok: 1 });
  await assert.rejects(client.call("info", {}, { signal: abort.signal }), Cancelled);
  assert.equal(port.sent.length, 2, "what is cancelled before it begins is never sent");
});

test("a dead worker rejects what is pending and what comes later, and is reported once", async () => {
  const { port, client, deaths } = start();
  const call = client.call("info", {});
  port.onerror?.({ message: "unreachable executed" } as ErrorEvent);
  port.reply({ id: 1, error: { kind: "died", message: "again" } });
  await assert.rejects(call, WorkerDied);
  await assert.rejects(client.call("memory", {}), WorkerDied);
  assert.deepEqual(deaths, ["unreachable executed"]);
  assert.ok(port.terminated);
});
