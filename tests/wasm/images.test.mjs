// What crosses between a session and its images in the page: whatever is posted to a session, names are those of the files
// that ran, and the session goes on.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { ask, functionsOf, modules, nameFrames, offer, open } from "./session.mjs";

const sample = (name) => fileURLToPath(new URL(`../../www/sample/${name}.xz`, import.meta.url));

/** The sample recording with its program, whose names are still to be asked for. */
function scene() {
  const session = open(sample("mill.perf.data"));
  assert.equal(offer(session, "mill", sample("mill")).used.length, 1);
  return session;
}

/** How many functions have a name that is no address. */
function named(session) {
  const query = { event: 0, direction: "callees", group: "none", inlines: "shown" };
  const { names } = functionsOf(session, query);
  return names.filter((name) => !name.startsWith("0x")).length;
}

const before = named(scene());

test("names cross as they are", () => {
  const session = scene();
  nameFrames(session);
  assert.ok(named(session) > before, `${before} functions had a name before`);
  const { done, total } = session.namingProgress();
  assert.ok(total > 0 && done === total, `${done} of ${total}`);
});

test("the session has no code that reads files with names, so that no first graph waits for it", () => {
  assert.ok(modules.images.includes(".debug_line"));
  assert.ok(!modules.session.includes(".debug_line"), "what a session is asked for leads to core/src/session/images_here.rs");
});

const Longer = (column) => Uint32Array.from([...column, 1]);

const lies = {
  "no columns": ({ ticket, first, identity, lost }) => ({ ticket, first, identity, lost }),
  "no identity": (answer) => ({ ...answer, identity: null }),
  "another build's identity": (answer) => ({ ...answer, identity: { gnu: "11".repeat(20) } }),
  "another ticket": (answer) => ({ ...answer, ticket: answer.ticket + 1 }),
  "another place": (answer) => ({ ...answer, first: answer.first + 1 }),
  "a list in place of a column": (answer) => ({ ...answer, lengths: [...answer.lengths] }),
  "a column of another type": (answer) => ({ ...answer, functions: Float64Array.from(answer.functions) }),
  "nothing in place of a column": (answer) => ({ ...answer, files: null }),
  "columns of other lengths": (answer) => ({ ...answer, lines: Longer(answer.lines) }),
  "more addresses": (answer) => ({ ...answer, lengths: Longer(answer.lengths) }),
  "fewer addresses": (answer) => ({ ...answer, lengths: answer.lengths.slice(1) }),
  "lengths without end": (answer) => ({ ...answer, lengths: answer.lengths.fill(0xffff_ffff) }),
  "functions that are not there": (answer) => ({ ...answer, functions: answer.functions.fill(0xffff_fffe) }),
  "files that are not there": (answer) => ({ ...answer, files: answer.files.fill(7_000_000) }),
  "texts that are not there": (answer) => ({ ...answer, functionTexts: new Uint8Array() }),
  "texts that end before they begin": (answer) => ({ ...answer, functionEnds: answer.functionEnds.reverse() }),
  "texts that are no text": (answer) => ({ ...answer, functionTexts: answer.functionTexts.fill(0xff) }),
};

for (const [what, lie] of Object.entries(lies)) {
  test(`${what} names nothing`, () => {
    const session = scene();
    nameFrames(session, lie);
    assert.equal(named(session), before);
    // It goes on: the same file, and an honest answer.
    offer(session, "mill", sample("mill"));
    nameFrames(session);
    assert.ok(named(session) > before);
  });
}

for (const [what, answer] of Object.entries({ nothing: null, "a number": 7, "an empty object": {}, "a text": "names" })) {
  test(`${what} in place of an answer is refused`, () => {
    const session = scene();
    assert.throws(() => session.takeNames(answer), { kind: "internal" });
    assert.throws(() => session.takeFindings(answer), { kind: "internal" });
    nameFrames(session);
    assert.ok(named(session) > before);
  });
}

test("a file that is said to match another build matches nothing", () => {
  const session = open(sample("mill.perf.data"));
  const gives = { functions: true, inlines: true, unwinding: true, symbol_table: true, memory: true };
  const matched = (identity, dsos) => ({ Matched: { identity, gives, dsos, unplaced: [[9999, "nowhere"]] } });
  for (const outcome of [
    matched({ gnu: "11".repeat(20) }, [0, 1, 2]),
    matched({ content: "11".repeat(16) }, [0]),
    { Shared: { dsos: [9999, 0xffff_ffff] } },
  ]) {
    session.takeFindings([{ name: "liar", package: null, outcome }]);
    assert.equal(session.askNames(1000), null);
  }
  assert.equal(ask(session, "dsos").filter(({ status }) => status === "matched").length, 0);
});
