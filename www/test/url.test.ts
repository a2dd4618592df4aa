import assert from "node:assert/strict";
import { test } from "node:test";
import type { DsoRef, FunctionRef, Query, Transform } from "../src/session/types.ts";
import { DEFAULT_QUERY, readSeconds, writeSeconds } from "../src/state/query_text.ts";
import type { ViewState } from "../src/state/url.ts";
import { DEFAULT_VIEW_STATE, readFragment, readView, writeFragment, writeView } from "../src/state/url.ts";

const NGINX: DsoRef = { path: "/usr/sbin/nginx", buildId: "9f31c07ad05e" };
const LIBZ: DsoRef = { path: "/opt/my libs;1,2/libz.so&=.1", buildId: null };
const DEFLATE: FunctionRef = { dso: LIBZ, name: "deflate", address: null };
const TEMPLATE: FunctionRef = { dso: NGINX, name: "std::map<int, char>::operator[](int&&) 'x' (.part.0) ü 100%", address: null };
const UNNAMED: FunctionRef = { dso: LIBZ, name: null, address: "0x1b8f70" };

const STEPS: Transform[] = [
  { kind: "merge", function: DEFLATE },
  { kind: "focus", function: TEMPLATE },
  { kind: "drop", function: UNNAMED },
  { kind: "collapse-function", function: DEFLATE },
  {
    kind: "merge-call-node",
    direction: "inverted",
    path: [
      { kind: "function", function: UNNAMED },
      { kind: "inlined", function: TEMPLATE },
    ],
  },
  {
    kind: "focus-subtree",
    direction: "callees",
    path: [{ kind: "process", name: "a,b;c" }, { kind: "thread", name: "" }, { kind: "no-mapping" }, { kind: "dso", dso: LIBZ }],
  },
  { kind: "drop", function: { dso: NGINX, name: null, address: null } },
  { kind: "collapse-dso", dso: NGINX },
  { kind: "collapse-recursion" },
  { kind: "search", text: "/a+b|c/ dso:z" },
];

const QUERY: Query = {
  event: 2,
  direction: "inverted",
  group: "none",
  inlines: "merged",
  unnamed: "each-address",
  range: { start: 21_600_000_001, end: 31_850_000_000, side: "outside" },
  processes: [1, 4121],
  threads: [4121, 4294967295],
  cpus: [0, 3],
  comms: ["nginx: worker", "a,b;c&d=e"],
  dsos: [LIBZ, NGINX],
  own: [NGINX],
  steps: STEPS,
  around: { side: "callers", function: TEMPLATE },
};

const STATE: ViewState = {
  view: "tree",
  query: QUERY,
  search: "a&b=c #ü+%",
  order: { key: "name", descending: false },
  groupBy: "file",
  thread: 4122,
  pinned: [4122, 9],
  comparison: { with: "rest", order: "swapped", basis: "per-second", width: "both" },
  lines: TEMPLATE,
};

const queryOf = (fields: string): Query => readFragment(`#s2&${fields}`).state.query;

test("an address comes back as it was written", () => {
  for (const payload of [null, "p1.AbC-_9"]) {
    for (const state of [STATE, DEFAULT_VIEW_STATE]) {
      assert.deepEqual(readFragment(writeFragment({ payload, state })), { payload, state, passedOver: [] });
    }
  }
});

test("each filter and each step comes back alone", () => {
  for (const steps of STEPS.map((step) => [step])) {
    const state = { ...DEFAULT_VIEW_STATE, query: { ...DEFAULT_QUERY, steps } };
    assert.deepEqual(
      readFragment(writeFragment({ payload: null, state })),
      { payload: null, state, passedOver: [] },
      steps[0]?.kind,
    );
  }
  for (const key of Object.keys(QUERY) as (keyof Query)[]) {
    const state = { ...DEFAULT_VIEW_STATE, query: { ...DEFAULT_QUERY, [key]: QUERY[key] } };
    assert.deepEqual(readFragment(writeFragment({ payload: null, state })), { payload: null, state, passedOver: [] }, key);
  }
});

test("an address goes through what cuts links off: no spaces, brackets, quotes, commas at the end", () => {
  const fragment = writeFragment({ payload: null, state: STATE });
  assert.match(fragment, /^#[A-Za-z0-9._~:/@$+%;,=&!-]+$/);
  assert.equal(new URL(`https://perftab.invalid/${fragment}`).hash, fragment);
});

test("names stay readable", () => {
  const query: Query = {
    ...DEFAULT_QUERY,
    range: { start: 21_600_000_000, end: 31_850_000_000, side: "inside" },
    steps: [{ kind: "drop", function: { dso: NGINX, name: "ngx::epoll_wait", address: null } }],
  };
  assert.equal(
    writeFragment({ payload: null, state: { ...DEFAULT_VIEW_STATE, query } }),
    "#s2&range=21.6-31.85&files=/usr/sbin/nginx;9f31c07ad05e&step=drop;ngx::epoll_wait;0",
  );
});

test("seconds keep every nanosecond", () => {
  for (const nanoseconds of [0, 1, 999_999_999, 1_000_000_000, 21_600_000_000, 86_400_000_000_001, 999_999_999_999_999]) {
    assert.equal(readSeconds(writeSeconds(nanoseconds)), nanoseconds);
  }
});

test("what is at its default is not written", () => {
  assert.equal(writeFragment({ payload: null, state: DEFAULT_VIEW_STATE }), "");
  assert.equal(writeFragment({ payload: "p1.x", state: DEFAULT_VIEW_STATE }), "#p1.x");
  assert.equal(writeFragment({ payload: null, state: { ...DEFAULT_VIEW_STATE, view: "functions" } }), "#s2&view=functions");
});

test("addresses of the first version are read", () => {
  assert.deepEqual(
    readFragment("#p1.x&s1&view=tree&event=3&direction=inverted&group=thread&inlines=merged&search=a+b%26c&order=dso.up"),
    {
      payload: "p1.x",
      state: {
        ...DEFAULT_VIEW_STATE,
        view: "tree",
        query: { ...DEFAULT_QUERY, event: 3, direction: "inverted", group: "thread", inlines: "merged" },
        search: "a b&c",
        order: { key: "dso", descending: false },
      },
      passedOver: [],
    },
  );
});

test("a newer payload version is handed on, a newer view version is passed over", () => {
  assert.deepEqual(readFragment("#p7.xyz"), { payload: "p7.xyz", state: DEFAULT_VIEW_STATE, passedOver: [] });
  assert.deepEqual(readFragment("#p1.xyz&s9&view=tree"), {
    payload: "p1.xyz",
    state: DEFAULT_VIEW_STATE,
    passedOver: ["s9&view=tree"],
  });
});

test("what is not understood keeps its default, and is noted", () => {
  for (const version of ["s1", "s2"]) {
    const { payload, state, passedOver } = readFragment(
      `#${version}&view=pie&event=-1&direction=up&group=cpu&inlines=&order=age.up&extra=1`,
    );
    assert.equal(payload, null);
    assert.deepEqual(state, DEFAULT_VIEW_STATE);
    assert.deepEqual(passedOver, ["view=pie", "event=-1", "direction=up", "group=cpu", "order=age.up", "extra=1"]);
  }
  const noted: [string, string[]][] = [
    ["", []],
    ["#", []],
    ["#s1&&&=", []],
    ["#s2&&&=", []],
    ["#s2&view", []],
    ["#top", ["top"]],
    ["#%E0%A4%A", ["%E0%A4%A"]],
    ["#s2&search=%E0%A4%A", ["search=%E0%A4%A"]],
    ["#s2&vie", ["vie"]],
  ];
  for (const [hash, passedOver] of noted) {
    assert.deepEqual(readFragment(hash), { payload: null, state: DEFAULT_VIEW_STATE, passedOver }, hash);
  }
});

test("where an address is cut off, the part that makes no sense any more is noted", () => {
  const whole = writeFragment({ payload: null, state: STATE });
  for (let end = 0; end < whole.length; end++) {
    const { state, passedOver } = readFragment(whole.slice(0, end));
    // Written again, what was read lacks what was passed over.
    const again = readFragment(writeFragment({ payload: null, state }));
    assert.deepEqual([again.state, again.passedOver], [state, []], whole.slice(0, end));
    assert.ok(passedOver.length <= 1, `${whole.slice(0, end)}: ${passedOver.join()}`);
  }
  const { state, passedOver } = readFragment("#s2&files=/a&step=drop;main;0&step=focus;lo");
  assert.deepEqual([state.query.steps.length, passedOver], [1, ["step=focus;lo"]]);
});

test("of a query, what makes no sense is passed over and the rest holds", () => {
  for (const range of ["2-1", "1-1", "-1-2", "1e3-2e3", "1-", "a-b", "1.0000000001-2", "99999999-999999999", "!"]) {
    assert.equal(queryOf(`range=${range}`).range, null, range);
  }
  assert.deepEqual(queryOf("processes=1,x,,2,99999999999,1&cpus=65536,7,-1"), { ...DEFAULT_QUERY, processes: [1, 2], cpus: [7] });
  assert.deepEqual(readFragment("#s2&processes=1,x,2").passedOver, ["processes=1,x,2"]);
  assert.deepEqual(queryOf("comms=,a,%E0%A4%A"), { ...DEFAULT_QUERY, comms: ["a"] });
  assert.deepEqual(queryOf("files=/a,;x,/b;%,/c&dsos=0,1,2,3,4,x").dsos, [
    { path: "/a", buildId: null },
    { path: "/c", buildId: null },
  ]);
  const steps = [
    "fly;a;0",
    "drop",
    "drop;a",
    "drop;a;9",
    "drop;;7",
    "drop;a;0;7f",
    "drop;%E0%A4%A;0",
    "search",
    "search;",
    "collapse-dso",
    "collapse-dso;4",
    "focus-subtree",
    "focus-subtree;callees,",
    "focus-subtree;callees,;a;0,;b;9",
    "merge-call-node;callees,process;%E0%A4%A",
    "drop;good;0",
  ];
  const found = queryOf(`files=/a&${steps.map((step) => `step=${step}`).join("&")}`).steps;
  assert.deepEqual(found, [{ kind: "drop", function: { dso: { path: "/a", buildId: null }, name: "good", address: null } }]);
});

test("no address is read without bounds", () => {
  const many = (count: number, text: string): string => Array.from({ length: count }, () => text).join("&");
  assert.equal(queryOf(many(1000, "step=collapse-recursion")).steps.length, 64);
  assert.ok(queryOf(`comms=${"a,".repeat(10_000)}`).comms.length <= 4096);
  assert.deepEqual(queryOf(`files=/a&step=focus-subtree;callees${",;f;0".repeat(5000)}`).steps, []);
  assert.deepEqual(queryOf(`step=search;${"x".repeat(5000)}`).steps, []);
  assert.deepEqual(readFragment(`#s2&view=tree&search=${"x".repeat(300_000)}`).state, DEFAULT_VIEW_STATE);
  assert.equal(readFragment(`#s2${"&step=fly".repeat(10_000)}`).passedOver.length, 10_000);
});

test("a view that a link holds is read again, with its zoom", () => {
  const view = { state: STATE, zoom: ["nginx", "a,b;c&d=e", "std::map<int>"] };
  const text = writeView(view);
  assert.match(text, /^[\x21-\x7e]+$/, "as the format asks");
  assert.deepEqual(readView(text), view);
  assert.deepEqual(readView(""), { state: DEFAULT_VIEW_STATE, zoom: [] });
});

test("a view that makes no sense is the usual one", () => {
  for (const hostile of [
    "<script>alert(1)</script>",
    "view=__proto__&zoom=%zz",
    "zoom=%E0%A4",
    "&&&===",
    "event=-1&range=9-1",
    "x".repeat(1e6),
  ]) {
    assert.deepEqual(readView(hostile), { state: DEFAULT_VIEW_STATE, zoom: [] }, hostile.slice(0, 40));
  }
});
