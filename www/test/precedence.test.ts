import assert from "node:assert/strict";
import { test } from "node:test";
import type { Gate } from "../src/worker/precedence.ts";
import { Precedence } from "../src/worker/precedence.ts";
import { CancelledCall, nextTask, Slices } from "../src/worker/slices.ts";
import { Turns } from "../src/worker/turns.ts";

/** Lets what goes on after some tasks do so. */
async function settle(): Promise<void> {
  for (let task = 0; task < 20; task++) {
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Work that ends when the test says so, and a note of what began and ended. */
function work(done: string[], name: string): { run: () => Promise<void>; end: () => void } {
  let end = (): void => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const run = async (): Promise<void> => {
    done.push(`${name} begins`);
    await ended;
    done.push(`${name} ends`);
  };
  return { run, end };
}

test("what is beside the view begins when nothing is looked at", async () => {
  const [precedence, done] = [new Precedence(), [] as string[]];
  const [graph, rows, names] = [work(done, "graph"), work(done, "rows"), work(done, "names")];
  void precedence.answer("flameGraph", graph.run);
  void precedence.answer("nameFrames", names.run);
  void precedence.answer("functions", rows.run);
  await settle();
  graph.end();
  await settle();
  assert.deepEqual(done, ["graph begins", "rows begins", "graph ends"]);
  rows.end();
  await settle();
  assert.deepEqual(done.slice(3), ["rows ends", "names begins"]);
});

test("an answer is sent before what waited for it goes on", async () => {
  const [precedence, done] = [new Precedence(), [] as string[]];
  const [graph, timeline] = [work(done, "graph"), work(done, "timeline")];
  // As the worker does: an answer passes through several functions that wait for it before it is sent.
  const answered = async (): Promise<void> => await precedence.answer("flameGraph", graph.run);
  const sent = (async (): Promise<void> => {
    await answered();
    done.push("graph is sent");
  })();
  void precedence.answer("timeline", timeline.run);
  graph.end();
  await sent;
  await settle();
  assert.deepEqual(done, ["graph begins", "graph ends", "graph is sent", "timeline begins"]);
});

test("a link and a file that are made do not begin anew with names that arrive", async () => {
  for (const method of ["share", "export"] as const) {
    const [precedence, done] = [new Precedence(), [] as string[]];
    const [made, names] = [work(done, "made"), work(done, "names")];
    void precedence.answer(method, made.run);
    void precedence.answer("nameFrames", names.run);
    // Nothing else waits for it.
    void precedence.answer("timeline", work(done, "timeline").run);
    await settle();
    made.end();
    await settle();
    assert.deepEqual(done, ["made begins", "timeline begins", "made ends", "names begins"]);
  }
});

test("facts and what the user gives wait for nothing, and nothing waits for them", async () => {
  const [precedence, done] = [new Precedence(), [] as string[]];
  const [graph, facts, names] = [work(done, "graph"), work(done, "facts"), work(done, "names")];
  void precedence.answer("flameGraph", graph.run);
  void precedence.answer("facts", facts.run);
  graph.end();
  await settle();
  void precedence.answer("nameFrames", names.run);
  await settle();
  assert.deepEqual(done, ["graph begins", "facts begins", "graph ends", "names begins"]);
});

test("a profile that has opened is looked at before its timeline is made", async () => {
  const [precedence, done] = [new Precedence(), [] as string[]];
  const [open, timeline, graph] = [work(done, "open"), work(done, "timeline"), work(done, "graph")];
  open.end();
  await precedence.answer("open", open.run);
  void precedence.answer("timeline", timeline.run);
  await settle();
  void precedence.answer("flameGraph", graph.run);
  graph.end();
  await settle();
  assert.deepEqual(done, ["open begins", "open ends", "graph begins", "graph ends", "timeline begins"]);
});

test("a profile that nobody looks at goes on all the same", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const [precedence, done] = [new Precedence(), [] as string[]];
  const [open, names] = [work(done, "open"), work(done, "names")];
  open.end();
  await precedence.answer("openLink", open.run);
  void precedence.answer("nameFrames", names.run);
  await settle();
  assert.deepEqual(done, ["open begins", "open ends"]);
  t.mock.timers.tick(1000);
  await settle();
  assert.deepEqual(done.at(-1), "names begins");
});

/** Slices that are over at each step. */
function slicesOf(t: { mock: { method: typeof import("node:test").mock.method } }): (beside: Gate | null) => Slices {
  let now = 0;
  t.mock.method(performance, "now", () => (now += 1000));
  return (beside) => new Slices(new AbortController().signal, () => {}, beside);
}

test("work beside the view stops between two slices, unless another call waits for its turn", async (t) => {
  const slices = slicesOf(t);
  const [precedence, turns] = [new Precedence(), new Turns()];
  let [timelines, trees] = [0, 0];
  const step = { stage: "counting", done: 0, total: 1 } as const;
  let isOver = false;
  const timeline = precedence.answer("timeline", async (beside) => {
    const own = slices(beside);
    while (!isOver) {
      timelines += 1;
      await own.breathe(step);
    }
  });
  const filtered = precedence.answer("filteredCoverage", (beside) => {
    const own = slices(beside);
    return turns.take(own, async () => {
      for (trees = 0; trees < 5; trees++) {
        await own.breathe(step);
      }
    });
  });
  await settle();
  const before = timelines;
  // The tree of the graph is made after that of the coverage, which therefore goes on.
  await precedence.answer("flameGraph", (beside) => turns.take(slices(beside), async () => {}));
  assert.equal(trees, 5);
  assert.ok(timelines <= before + 1, `${timelines - before} slices of the timeline while the graph was awaited`);
  isOver = true;
  await Promise.all([timeline, filtered]);
});

test("a call that comes during a slice waits for that one only, however much goes on beside the view", async (t) => {
  const slices = slicesOf(t);
  const precedence = new Precedence();
  let [count, isOver] = [0, false];
  let slice = (): void => {};
  const beside = (["timeline", "tasks", "marks", "dsoUsers"] as const).map((method) =>
    precedence.answer(method, async (gate) => {
      const own = slices(gate);
      while (!isOver) {
        count += 1;
        slice();
        await own.breathe({ stage: "counting", done: 0, total: 1 });
      }
    }),
  );
  await settle();
  // As a call comes to the worker: as a message, behind which the desk leaves a task for its cancel.
  const waited = await new Promise<number>((resolve) => {
    slice = () => {
      slice = () => {};
      const since = count;
      const run = async (): Promise<void> => resolve(count - since);
      void nextTask()
        .then(nextTask)
        .then(() => precedence.answer("functions", run));
    };
  });
  isOver = true;
  await Promise.all(beside);
  assert.equal(waited, 0);
});

test("a call that is cancelled while it waits ends at once, and does nothing", async () => {
  const [precedence, done] = [new Precedence(), [] as string[]];
  const graph = work(done, "graph");
  void precedence.answer("flameGraph", graph.run);
  const abort = new AbortController();
  const { signal } = abort;
  const check = async (beside: Gate | null): Promise<void> => new Slices(signal, () => {}, beside).check();
  const names = precedence.answer("nameFrames", check, signal);
  const begun = precedence.answer("timeline", async (beside) => {
    await new Slices(signal, () => {}, beside).wait(settle(), { stage: "counting", done: 0, total: 1 });
    done.push("timeline is let go");
  });
  await settle();
  abort.abort();
  await assert.rejects(names, CancelledCall);
  assert.deepEqual(done, ["graph begins"]);
  graph.end();
  await begun;
  assert.deepEqual(done, ["graph begins", "graph ends", "timeline is let go"]);
});

test("what others answered meanwhile is taken in when nothing is looked at", async () => {
  const [precedence, done] = [new Precedence(), [] as string[]];
  const [others, graph] = [work(done, "others"), work(done, "graph")];
  const names = precedence.answer("nameFrames", async (beside) => {
    const slices = new Slices(new AbortController().signal, () => {}, beside);
    await slices.wait(others.run(), { stage: "naming", done: 0, total: 1 });
    done.push("names are taken in");
  });
  await settle();
  void precedence.answer("flameGraph", graph.run);
  others.end();
  await settle();
  graph.end();
  await names;
  assert.deepEqual(done, ["others begins", "graph begins", "others ends", "graph ends", "names are taken in"]);
});

test("what will be looked at is made until it is looked at, or done", async () => {
  const until = async (done: number, look: number): Promise<number> => {
    const precedence = new Precedence();
    await precedence.answer("open", async () => {});
    let steps = 0;
    let graph: Promise<void> | null = null;
    await precedence.whileUnseen(() => {
      steps += 1;
      if (steps === look) {
        graph = precedence.answer("flameGraph", async () => {});
      }
      return steps === done;
    });
    await graph;
    return steps;
  };
  assert.equal(await until(5, 100), 5);
  assert.equal(await until(100, 3), 3);
});
