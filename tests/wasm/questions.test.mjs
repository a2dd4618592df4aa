// Questions cross as a name and an object of arguments. Each is answered, with columns of the types that TypeScript is told; what
// is no question is refused in words, and the session goes on.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { inspect } from "node:util";
import { ask, askCompared, facade, offer, nameFrames, open } from "./session.mjs";

const sample = (name) => fileURLToPath(new URL(`../../www/sample/${name}.xz`, import.meta.url));

const session = open(sample("mill.perf.data"));
offer(session, "mill", sample("mill"));
nameFrames(session);

const query = { event: 0, direction: "callees", group: "none", inlines: "shown" };
const inverted = { ...query, direction: "inverted" };
const ranged = { ...query, steps: [{ kind: "collapse-recursion" }] };
const window = { root: 0, widthPx: 1000, minPx: 0.5, search: "mill" };
const [first] = ask(session, "functions", { query, order: { key: "self", direction: "descending" }, from: 0, to: 1 }).functionId;
const named = ask(session, "functionRef", { functionId: first });
const merged = { ...query, inlines: "merged" };
const [linked] = ask(session, "functions", {
  query: merged,
  order: { key: "self", direction: "descending" },
  from: 0,
  to: 1,
}).functionId;
const ofLinker = ask(session, "functionRef", { functionId: linked });
const thread = ask(session, "tasks", { event: 0 }).processes[0].threads[0].tid;
const dropping = { ...query, steps: [{ kind: "drop", function: named }] };

/** Every question, some of them more than once, and what its answer is like. */
const questions = [
  ["info", {}, (it) => it.samples > 0],
  ["dsos", {}, (it) => it.length > 0],
  ["coverage", {}, (it) => it.named > 0],
  ["filteredCoverage", { query: dropping }, (it) => it.dsos.length > 0],
  ["dsoUsers", { dsos: [0, 1, 4e9] }, (it) => Array.isArray(it)],
  ["flameGraph", { query, window }, (it) => it.depths > 1],
  ["flameGraph", { query: inverted, window }, (it) => it.depths > 1],
  ["callNode", { query, callNode: 0, most: 5 }, (it) => it.siblings === null && it.path.names.length === 1],
  ["callNode", { query, callNode: 1, most: 5 }, (it) => it.siblings.names.length > 0],
  ["callNodeDetail", { query, callNode: 1 }, (it) => it.callNode === 1],
  ["occurrence", { query, request: { subject: { kind: "function", id: first }, bins: 10 } }, (it) => it !== null],
  ["occurrence", { query: inverted, request: { subject: { kind: "call-node", id: 1 }, bins: 10 } }, (it) => it !== null],
  ["findCallNode", { query, place: { path: [], pathFrames: [] } }, (it) => it === 0],
  ["movedCallNodes", { query, generation: 4e9, callNodes: [0, 1] }, (it) => it.join() === "0,0"],
  ["callTreeChildren", { query, callNode: 0 }, (it) => it.names.length > 0],
  ["callTreeChildren", { query, callNode: 0, from: 0, to: 1 }, (it) => it.names.length === 1],
  ["callTreePath", { query, callNode: 1 }, (it) => it.names.length > 1],
  ["functions", { query, order: {}, groupBy: "thread", from: 0, to: 100 }, (it) => it.names.length > 0],
  ["timeOrder", { query, window: { ...window, thread, start: 0, end: 1e9 } }, (it) => it.distance > 0],
  ["sandwich", { query, function: named }, (it) => it.functionId === first],
  ["hottestLine", { query, functionId: first }, (it) => it === null || it.line > 0],
  ["hotLines", { query, function: named }, (it) => it.instructions.length > 0],
  ["codeHeat", { query, function: ofLinker }, ([it]) => it.addresses instanceof BigUint64Array && it.samples.length > 0],
  ["search", { query, text: "mill" }, (it) => it.problem === null],
  ["search", { query, text: "/(/" }, (it) => typeof it.problem === "string"],
  ["shown", { query }, (it) => it !== null],
  ["functionRef", { functionId: first }, (it) => it !== null],
  ["dsoRef", { dso: 0 }, (it) => it !== null],
  ["callNodePath", { query, callNode: 1 }, (it) => it.length === 1],
  ["tasks", { event: 0 }, (it) => it.processes.length > 0],
  [
    "timeline",
    { query: dropping, request: { start: 0, end: 0, bins: 50, by: "thread", sort: "weight", open: [] } },
    (it) => it.bins > 0,
  ],
  ["heatMap", { query: ranged, request: { period: 1e9, rows: 50, start: 0, end: 0 } }, (it) => it.rows > 0],
  ["heatCell", { query, start: 0, end: 1e9 }, (it) => it !== null],
  ["marks", { start: 0, end: 1e12 }, (it) => it.time.length === it.text.length],
  ["rangePreview", { query, range: { start: 0, end: 1e9, side: "inside" }, window }, (it) => it.depths > 0],
  [
    "hotPlaces",
    { options: { characters: 4000 } },
    (it) => it.address instanceof BigUint64Array && it.line.length === it.address.length && it.files.length > 0,
  ],
  ["share", { options: { characters: 4000 } }, (it) => it.payload.startsWith("p1.")],
  ["exportContents", { requests: [] }, (it) => it.length === 0],
  ["exportSize", { request: { format: "collapsed", query, events: "one", name: "x" } }, (it) => it > 0],
  ["renameProblem", { pattern: "*" }, (it) => it === null || typeof it === "string"],
];

for (const [question, args, isRight] of questions) {
  test(`question: ${question}`, () => {
    const answer = ask(session, question, args);
    assert.ok(isRight(answer), inspect(answer).slice(0, 400));
  });
}

const typed = (answer, types) => {
  for (const [name, type] of Object.entries(types)) {
    assert.equal(answer[name]?.constructor.name, type, name);
  }
};

const boxes = { rowStart: "Uint32Array", start: "Float32Array", kind: "Uint8Array", total: "Float64Array", labels: "Array" };
const rows = { before: "Float64Array", certain: "Uint8Array", names: "Array" };

test("columns cross as typed arrays", () => {
  typed(ask(session, "flameGraph", { query, window }), boxes);
  typed(ask(session, "timeOrder", { query, window: { ...window, thread, start: 0, end: 1e9 } }), {
    ...boxes,
    samples: "Float64Array",
  });
  typed(ask(session, "callTreePath", { query, callNode: 1 }), {
    callNode: "Uint32Array",
    depth: "Uint16Array",
    flags: "Uint8Array",
  });
  typed(ask(session, "search", { query, text: "mill" }), { matches: "Uint32Array" });
  const view = { basis: "share", width: "both" };
  const compared = (question, args) => askCompared(session, query, question, { view, ...args });
  typed(compared("comparedGraph", { window }), { ...boxes, step: "Int8Array", before: "Float64Array" });
  typed(compared("comparedChildren", { callNode: 0, most: 5 }), { ...rows, callNode: "Uint32Array" });
  typed(compared("comparedChanges", { rows: { from: 0, to: 5 } }), { ...rows, heaviest: "Uint32Array" });
  assert.equal(askCompared(session, query, "comparedSides").length, 2);
  assert.ok(compared("comparedDsos").length > 0);
  assert.equal(compared("comparedDetail", { callNode: 4e9 }), null);
  assert.equal(compared("comparedSearch", { text: "mill" }).problem, null);
});

test("a search lists what the functions table has, whichever way the tree goes, and in a comparison", () => {
  const order = { key: "total", direction: "descending" };
  const { names, dsos, total, allTotal } = ask(session, "functions", { query, order, from: 0, to: 1e6 });
  const row = (name, dso, share) => `${name} ${dso} ${share.toFixed(6)}`;
  const wanted = names.map((name, at) => row(name, dsos[at], total[at] / allTotal)).filter((_, at) => dsos[at] === "mill");
  assert.ok(wanted.length > 3);
  const view = { basis: "share", width: "both" };
  for (const found of [
    ask(session, "search", { query, text: "dso:mill" }),
    ask(session, "search", { query: inverted, text: "dso:mill" }),
    askCompared(session, query, "comparedSearch", { view, text: "dso:mill" }),
  ]) {
    const { listed } = found;
    const rows = listed.names.map((name, at) => row(name, listed.dsos[at], listed.share[at]));
    // Among equals the order means nothing.
    assert.deepEqual(rows.toSorted(), wanted.toSorted());
    typed(listed, { kind: "Uint8Array", flags: "Uint8Array", share: "Float64Array" });
  }
});

test("what is no question is refused in words", () => {
  const refused = (question, args, words, say = ask) =>
    assert.throws(
      () => say(session, question, args),
      ({ kind, message }) => kind === "bad-question" && words.test(message),
    );
  refused("nothing", {}, /^nothing: there is no such question$/);
  refused("__proto__", {}, /./);
  refused("flameGraph", {}, /^query: /);
  refused("flameGraph", { query }, /^window: /);
  refused("flameGraph", { query: { ...query, direction: "sideways" }, window }, /^query: .*unknown variant `sideways`/);
  for (const event of [-1, 1.5, 2 ** 32, Number.NaN, "0", null, {}]) {
    refused("tasks", { event }, /^event: /);
  }
  for (const callNode of [-1, 0.5, 2 ** 53]) {
    refused("callNodeDetail", { query, callNode }, /^callNode: /);
  }
  refused("share", { options: { characters: -1 } }, /^options: /);
  refused("tasks", null, /^event: /);
  refused("Tasks", { event: 0 }, /no such question/);
  refused("comparedNothing", {}, /no such question/, (it, question, args) => askCompared(it, query, question, args));
  assert.ok(ask(session, "tasks", { event: 0 }).processes.length > 0);
});

test("numbers of nothing are answered", () => {
  const most = 2 ** 32 - 1;
  assert.equal(ask(session, "callNode", { query, callNode: most, most }), null);
  assert.equal(ask(session, "functionRef", { functionId: most }), null);
  assert.equal(ask(session, "dsoRef", { dso: most }), null);
  assert.equal(ask(session, "tasks", { event: most }).processes.length, 0);
  assert.equal(ask(session, "callTreeChildren", { query, callNode: 0, from: most, to: 0 }).names.length, 0);
  assert.equal(ask(session, "callTreeChildren", { query, callNode: 0, from: 5, to: 2 }).names.length, 0);
  assert.ok(ask(session, "callNode", { query, callNode: 0, most }).children.names.length > 0);
  assert.equal(ask(session, "functions", { query, order: {}, from: most, to: 0 }).names.length, 0);
  for (const edge of [Number.NaN, -1, Number.POSITIVE_INFINITY, Number.MAX_VALUE]) {
    ask(session, "heatCell", { query, start: edge, end: edge });
    ask(session, "marks", { start: edge, end: edge });
    ask(session, "flameGraph", { query, window: { root: most, widthPx: edge, minPx: edge, search: "" } });
    ask(session, "timeOrder", { query, window: { ...window, thread: most, start: edge, end: edge, widthPx: edge } });
    ask(session, "timeline", { query, request: { start: edge, end: edge, bins: 10, by: "cpu", sort: "start", open: [] } });
  }
});

test("what the page asks for first of a profile can be made before it does", () => {
  const fresh = open(sample("mill.perf.data"));
  const steps = Array.from({ length: 1000 }, () => fresh.prepareFirst(100));
  assert.ok(steps.indexOf(true) > 1);
  assert.ok(steps.slice(steps.indexOf(true)).every((isMade) => isMade));
  // As the page spells it out (query_text.ts); more than looking at the tree does not fit into one row.
  const none = {
    unnamed: "one-per-dso",
    processes: [],
    threads: [],
    cpus: [],
    comms: [],
    dsos: [],
    own: [],
    steps: [],
    range: null,
    around: null,
  };
  for (const [group, isThere] of [
    ["auto", true],
    ["thread", false],
  ]) {
    const first = new facade.Asked("callTreePath", { query: { ...query, ...none, group }, callNode: 1 }).step(fresh, 1);
    assert.equal("answer" in first, isThere, group);
  }
  fresh.free();
});
