import assert from "node:assert/strict";
import { test } from "node:test";
import type {
  DataRequest,
  Findings,
  ForcedFile,
  NameAnswer,
  NameRequest,
  NotUsed,
  OfferReport,
} from "../src/generated/perftab_web.js";
import type { Call, Reply } from "../src/session/types.ts";
import type { Told } from "../src/worker/images_protocol.ts";
import type { ImagesPort, NamedSession } from "../src/worker/images_side.ts";
import { ImagesSide } from "../src/worker/images_side.ts";
import { CancelledCall, Slices } from "../src/worker/slices.ts";

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A file that matches a DSO, which has so many slices of addresses. */
interface Found {
  dso: number;
  slices: number;
}

/** A session that asks for what it is told, and notes what is said. Closed, it is freed: whoever uses it then has failed. */
class FakeSession implements NamedSession {
  readonly taken: { dso: number; ticket: number; first: number }[] = [];
  /** How many of those views show. */
  shown = 0;
  readonly lost: string[] = [];
  readonly asksForUnwindTables = false;
  isClosed = false;
  #prepared: "not" | "half" | "all" = "not";
  #lastTicket = 0;
  #toAsk: NameRequest[] = [];
  #dsoOf = new Map<number, number>();

  #use(): void {
    assert.ok(!this.isClosed, "a session that is closed is used");
  }

  dsoTable(): ReturnType<NamedSession["dsoTable"]> {
    this.#use();
    return ["a table"] as never;
  }

  takeFindings(findings: Findings): void {
    this.#use();
    for (const { dso, slices } of findings as unknown as Found[]) {
      const ticket = ++this.#lastTicket;
      this.#dsoOf.set(ticket, dso);
      for (let first = 0; first < slices; first++) {
        this.#toAsk.push({ ticket, dso, depth: "inlined", first, rest: slices - first - 1, addresses: new BigUint64Array(1) });
      }
    }
  }

  madeCode(): null {
    return null;
  }

  annotatedMade(): never {
    throw new Error("nothing was made");
  }

  askNames(): NameRequest | null {
    this.#use();
    return this.#toAsk.shift() ?? null;
  }

  takeNames({ ticket, first }: NameAnswer): void {
    this.#use();
    this.taken.push({ dso: this.#dsoOf.get(ticket) ?? -1, ticket, first });
  }

  /** What it is told of the code of processes: the name of each file, the first of which it uses. */
  takeCodeTables(tables: Uint8Array[]): OfferReport {
    this.#use();
    const names = tables.map((bytes) => new TextDecoder().decode(bytes));
    return {
      used: names.slice(0, 1).map((name) => ({ name, dsos: [9], gives: "function names only" })),
      notUsed: names.slice(1).map((name) => ofCode(name, "it is of another run")),
      unrelated: 0,
      others: 0,
    };
  }

  unwindable(): Uint32Array {
    this.#use();
    return new Uint32Array();
  }

  takeUnwindTables(): void {
    this.#use();
  }

  /** Done with the second step. */
  prepareNames(): boolean {
    this.#use();
    this.#prepared = this.#prepared === "half" ? "all" : "half";
    return this.#prepared === "all";
  }

  showNames(): void {
    this.#use();
    assert.equal(this.#prepared, "all", "what is shown was prepared");
    this.shown = this.taken.length;
  }

  loseNames(why: string): void {
    this.#use();
    this.lost.push(why);
  }

  namingProgress(): { done: number; total: number } {
    this.#use();
    return { done: 0, total: 1 };
  }

  /** DSOs whose files are to be asked for names of data, and those that were named. */
  dataToAsk: number[] = [];
  readonly data: number[] = [];
  #lookedUp: "not" | "half" | "all" = "not";

  /** Done with the second step. */
  lookUpData(): boolean {
    this.#use();
    this.#lookedUp = this.#lookedUp === "not" ? "half" : "all";
    return this.#lookedUp === "all";
  }

  askData(): DataRequest | null {
    this.#use();
    assert.equal(this.#lookedUp, "all", "it is known where data lay");
    const dso = this.dataToAsk.shift();
    return dso === undefined ? null : { dso, addresses: new BigUint64Array(dso) };
  }

  takeData(dso: number, addresses: BigUint64Array): void {
    this.#use();
    assert.equal(addresses.length, dso, "those that were asked for");
    this.data.push(dso);
  }

  forceable(): BigUint64Array<ArrayBuffer> {
    this.#use();
    return new BigUint64Array(1);
  }

  takeForced(_dso: number, { name }: ForcedFile): ReturnType<NamedSession["takeForced"]> {
    this.#use();
    assert.equal(name, "forced");
    return { outcome: "forced", frames: 1 };
  }
}

/** A file that says something of the code of a process, as it is not used. */
function ofCode(name: string, message: string): NotUsed {
  return { name, reason: { kind: "code-table", message }, message };
}

/** A worker that answers when the test says so. */
class FakeWorker implements ImagesPort {
  onmessage: ImagesPort["onmessage"] = null;
  onerror: ImagesPort["onerror"] = null;
  terminated = false;
  readonly calls: Call[] = [];
  readonly cancelled: number[] = [];

  postMessage(message: Call | { type: "cancel"; id: number }): void {
    assert.ok(!this.terminated);
    if (message.type === "call") {
      this.calls.push(message);
    } else {
      this.cancelled.push(message.id);
    }
  }

  terminate(): void {
    this.terminated = true;
  }

  say(data: Reply | Told): void {
    this.onmessage?.({ data } as MessageEvent<Reply | Told>);
  }

  find(...found: Found[]): void {
    this.say({ findings: found as unknown as Findings, bytes: 1000 });
  }

  /** Answers the next call of a method that nobody cancelled; whether there is one. */
  answer(method: string, ok: unknown = []): boolean {
    const at = this.calls.findIndex((call) => call.method === method && !this.cancelled.includes(call.id));
    const [call] = at < 0 ? [] : this.calls.splice(at, 1);
    if (call === undefined) {
      return false;
    }
    if (method === "name") {
      const { ticket, first } = call.args as NameRequest;
      this.say({ id: call.id, ok: { ticket, first, identity: null, lost: null } satisfies NameAnswer });
    } else {
      this.say({ id: call.id, ok });
    }
    return true;
  }

  answerAll(method: string): void {
    while (this.answer(method)) {}
  }
}

interface Scene {
  session: FakeSession;
  side: ImagesSide;
  workers: FakeWorker[];
  /** The one that there is. */
  worker: () => FakeWorker;
}

function scene(): Scene {
  const [session, workers] = [new FakeSession(), [] as FakeWorker[]];
  const begin = (): FakeWorker => {
    const worker = new FakeWorker();
    workers.push(worker);
    return worker;
  };
  const worker = (): FakeWorker => {
    const last = workers.at(-1);
    assert.ok(last !== undefined, "there is a worker");
    return last;
  };
  return { session, side: new ImagesSide(session, begin), workers, worker };
}

const slices = (signal = new AbortController().signal): Slices => new Slices(signal, () => {});
const file = { name: "app", bytes: new Blob() };

test("no worker begins before a file is given", async () => {
  const { side, workers } = scene();
  await side.nameFrames(slices());
  assert.equal(workers.length, 0);
  void side.offer([file], slices());
  void side.offer([file], slices());
  await settle();
  assert.equal(workers.length, 1);
});

test("data gets its names when somebody asks, and no worker begins for that", async () => {
  const { session, side, workers, worker } = scene();
  assert.equal(await side.nameData(slices()), false, "no file has come");
  assert.equal(workers.length, 0);
  session.dataToAsk = [3, 4];
  const named = side.nameData(slices());
  await settle();
  assert.ok(worker().answer("nameObjects", { identity: {} }));
  await settle();
  assert.ok(worker().answer("nameObjects", null));
  assert.equal(await named, true);
  assert.deepEqual(session.data, [3], "of the other nothing was said");
  assert.equal(await side.nameData(slices()), false, "once");
});

test("data of a profile that is closed gets no names", async () => {
  const { session, side, worker } = scene();
  session.dataToAsk = [3];
  const named = side.nameData(slices());
  await settle();
  worker();
  side.end();
  session.isClosed = true;
  await assert.rejects(named, CancelledCall);
});

test("names are asked for at once, and taken in together when they are wanted", async () => {
  const { session, side, worker } = scene();
  const offered = side.offer([file], slices());
  worker().find({ dso: 1, slices: 2 }, { dso: 2, slices: 1 });
  const report = { used: [], notUsed: [], unrelated: 0, others: 1 };
  worker().answer("offer", [report]);
  assert.deepEqual(await offered, [report]);
  worker().answer("name");
  worker().answer("name");
  const named = side.nameFrames(slices());
  await settle();
  assert.deepEqual(session.taken, [], "the last one is still to come");
  worker().answer("name");
  await named;
  assert.deepEqual(
    session.taken.map(({ dso, first }) => [dso, first]),
    [
      [1, 0],
      [1, 1],
      [2, 0],
    ],
  );
});

test("the session decides on what files say of the code of processes", async () => {
  const { side, worker } = scene();
  const offered = side.offer([file, file], slices());
  const other: NotUsed = { name: "c", reason: { kind: "no-identity-in-file" }, message: "no build-id" };
  const [first, second] = [ofCode("a", "undecided"), ofCode("b", "undecided")];
  worker().answer("offer", [
    { used: [], notUsed: [first, other], unrelated: 0, others: 2 },
    { used: [], notUsed: [second], unrelated: 3, others: 0 },
  ]);
  await settle();
  worker().answer(
    "codeTables",
    ["a", "b"].map((name) => new TextEncoder().encode(name)),
  );
  assert.deepEqual(await offered, [
    { used: [{ name: "a", dsos: [9], gives: "function names only" }], notUsed: [other], unrelated: 0, others: 2 },
    { used: [], notUsed: [ofCode("b", "it is of another run")], unrelated: 3, others: 0 },
  ]);
});

test("what was asked of a DSO before another file came for it is not asked any more", async () => {
  const { session, side, worker } = scene();
  void side.offer([file], slices());
  worker().find({ dso: 1, slices: 3 });
  worker().answer("name");
  const named = side.nameFrames(slices());
  await settle();
  worker().find({ dso: 1, slices: 2 });
  assert.equal(worker().cancelled.length, 2);
  await named;
  const again = side.nameFrames(slices());
  worker().answerAll("name");
  await again;
  assert.deepEqual(
    session.taken.map(({ ticket, first }) => [ticket, first]),
    [
      [1, 0],
      [2, 0],
      [2, 1],
    ],
  );
});

test("a file that comes while another is taken in is named with the next", async () => {
  const { session, side, worker } = scene();
  void side.offer([file], slices());
  worker().find({ dso: 1, slices: 2 });
  const named = side.nameFrames(slices());
  worker().answer("name");
  worker().find({ dso: 2, slices: 1 });
  worker().answer("name");
  await named;
  assert.deepEqual(new Set(session.taken.map(({ dso }) => dso)), new Set([1]));
  const next = side.nameFrames(slices());
  worker().answerAll("name");
  await next;
  assert.equal(session.taken.length, 3);
});

test("what files name beside them is asked of the machine that they are from, until nothing more comes", async () => {
  const { session, side, worker } = scene();
  const server = { kind: "this-machine", url: "/local", host: "this machine" } as const;
  const dso = { name: "app", kind: "user", identity: "gnu", build_id: "ab" } as const;
  const fetched = side.fetch({ server, dso }, slices());
  worker().find({ dso: 1, slices: 1 });
  let isNamed = false;
  const named = side.nameFrames(slices()).then(() => {
    isNamed = true;
  });
  await settle();
  assert.ok(!worker().answer("companions"), "names say what is missing");
  worker().answer("name");
  await settle();
  worker().find({ dso: 1, slices: 1 });
  assert.ok(worker().answer("companions", true));
  await settle();
  assert.ok(!isNamed && !worker().answer("companions"), "it is named with what came");
  worker().answer("name");
  await settle();
  assert.ok(worker().answer("companions", false));
  await named;
  assert.deepEqual(
    session.taken.map(({ ticket }) => ticket),
    [1, 2],
  );

  worker().onerror?.({ message: "out of memory", preventDefault: () => {} } as unknown as ErrorEvent);
  await assert.rejects(fetched);
  await side.nameFrames(slices());
});

/** The steps of a scene, each of which may be the last before something else happens. */
const STEPS: ((scene: Scene, signal: AbortSignal, calls: Promise<unknown>[]) => void)[] = [
  ({ side }, signal, calls) => calls.push(side.offer([file], slices(signal))),
  ({ worker }) => worker().find({ dso: 1, slices: 2 }),
  ({ worker }) => worker().answer("offer"),
  ({ side }, signal, calls) => calls.push(side.nameFrames(slices(signal))),
  ({ worker }) => worker().answer("name"),
  ({ worker }) => worker().answer("name"),
];

/** Waits for calls, each of which ends well or as if it was cancelled. */
async function ends(calls: Promise<unknown>[]): Promise<void> {
  for (const end of await Promise.allSettled(calls)) {
    assert.ok(end.status === "fulfilled" || end.reason instanceof CancelledCall);
  }
}

test("a cancel at any point leaves what came, and the rest to the next who asks", async () => {
  for (let at = 1; at <= STEPS.length; at++) {
    const made = scene();
    const [abort, calls] = [new AbortController(), [] as Promise<unknown>[]];
    for (const step of STEPS.slice(0, at)) {
      step(made, abort.signal, calls);
      await settle();
    }
    const ended = ends(calls);
    abort.abort();
    const rest = STEPS.slice(at).filter((_, index) => at + index !== 3);
    const never = new AbortController().signal;
    for (const step of rest) {
      step(made, never, []);
      await settle();
    }
    await ended;
    await made.side.nameFrames(slices());
    assert.deepEqual(
      made.session.taken.map(({ first }) => first),
      [0, 1],
      `cancelled after step ${at}`,
    );
  }
});

test("a session that is closed at any point gets no names, and its worker ends", async () => {
  for (let at = 1; at <= STEPS.length; at++) {
    const made = scene();
    const [never, calls] = [new AbortController().signal, [] as Promise<unknown>[]];
    for (const step of STEPS.slice(0, at)) {
      step(made, never, calls);
      await settle();
    }
    const before = made.session.taken.length;
    const ended = ends(calls);
    made.side.end();
    made.session.isClosed = true;
    assert.ok(made.worker().terminated);
    // What it said before it ended may still be on its way.
    made.worker().find({ dso: 3, slices: 1 });
    made.worker().answerAll("offer");
    made.worker().answerAll("name");
    await ended;
    assert.equal(made.session.taken.length, before);
    await assert.rejects(made.side.nameFrames(slices()), CancelledCall);
    await assert.rejects(made.side.offer([file], slices()), CancelledCall);
    await assert.rejects(made.side.force(1, file as never, slices()), (error) => error instanceof Error);
    assert.equal(made.workers.length, 1);
  }
});

test("a worker that dies takes no session with it, and the next file begins another", async () => {
  const { session, side, workers, worker } = scene();
  const offered = side.offer([file], slices());
  worker().find({ dso: 1, slices: 3 });
  worker().answer("name");
  const named = side.nameFrames(slices());
  await settle();
  let prevented = 0;
  worker().onerror?.({ message: "unreachable executed", preventDefault: () => (prevented += 1) } as unknown as ErrorEvent);
  assert.equal(prevented, 1, "the page would hear of it else, and give up the session");
  await assert.rejects(offered, { kind: "images-died", message: "the worker that read them stopped: unreachable executed" });
  await named;
  // What had been said is shown, and that no more comes is told.
  assert.equal(session.taken.length, 1);
  assert.equal(session.shown, 1);
  assert.deepEqual(session.lost, ["the worker that read them stopped: unreachable executed"]);
  assert.ok(worker().terminated);
  assert.equal(side.bytes, 0);

  const again = side.offer([file], slices());
  assert.equal(workers.length, 2);
  worker().find({ dso: 1, slices: 1 });
  worker().answer("offer");
  await again;
  const next = side.nameFrames(slices());
  worker().answer("name");
  await next;
  assert.equal(session.taken.length, 2);
});

test("a file that is forced is taken in, and one that is not says why", async () => {
  const { side, worker } = scene();
  const forced = side.force(1, file as never, slices());
  worker().answer("insist", { forced: { name: "forced" } });
  assert.deepEqual(await forced, { outcome: "forced", frames: 1 });
  const refused = side.force(1, file as never, slices());
  worker().answer("insist", { outcome: { outcome: "refused" } });
  assert.deepEqual(await refused, { outcome: "refused" });
});
