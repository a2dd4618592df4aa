import assert from "node:assert/strict";
import { test } from "node:test";
import type { CodePiece, HotLines, TextColumn } from "../src/session/types.ts";
import { NONE } from "../src/session/types.ts";
import { findAmong, matcherOf, piecesOf, placeFrom } from "../src/views/source/find.ts";
import { lanesAt, loopAround, partOf } from "../src/views/source/jumps.ts";
import {
  candidates,
  codeRows,
  columnsOf,
  hottestLine,
  isBehindGap,
  listingOf,
  listingOfHot,
  movedFolder,
  movedPath,
  movingFolder,
  placeAmong,
  rowText,
  sourceRows,
} from "../src/views/source/listing.ts";
import type { CodeQuestion } from "../src/views/source/read_code.ts";
import { readCode } from "../src/views/source/read_code.ts";
import { ranOf, ranWords } from "../src/views/source/ran.ts";
import { dedented, nearCode, ofInlined } from "../src/views/source/near_code.ts";
import { isSource } from "../src/views/source/sources.ts";

function column(...texts: string[]): TextColumn {
  let end = 0;
  const ends = texts.map((text) => (end += new TextEncoder().encode(text).length));
  return { texts: new TextEncoder().encode(texts.join("")), ends: Uint32Array.from(ends) };
}

/** Four instructions, of which the second and third are inlined from a header; the last jumps to the first. */
function piece(startInFile: bigint): CodePiece {
  return {
    ...{
      from: "file",
      dso: 3,
      start: startInFile - 0x1000n,
      startInFile,
      bytes: Uint8Array.of(...Array(12).keys()),
      taken: 2,
      samples: 10,
      weight: 100,
    },
    starts: Uint32Array.of(0, 4, 6, 9),
    instructions: column("push rbp", "nop", "", "jmp 0x1000"),
    target: Uint32Array.of(NONE, NONE, NONE, 0),
    refersTo: Uint32Array.of(NONE, 0, NONE, NONE),
    references: column('key "größe"'),
    goesTo: Uint32Array.of(NONE, NONE, NONE, 0),
    targets: column("größe"),
    files: column("/src/sea.c", "/src/swell.h"),
    md5s: [null, Uint8Array.of(1, 2)],
    ownFile: 0,
    fileAddresses: BigUint64Array.of(0x10n, 0x14n),
    functions: column("swell"),
    inlined: Uint32Array.of(NONE, 0, 0, NONE),
    file: Uint32Array.of(0, 1, 1, 0),
    line: Uint32Array.of(7, 2, 3, 9),
    instructionSamples: Float64Array.of(1, 0, 9, 0),
    instructionWeight: Float64Array.of(10, 0, 90, 0),
    lineFile: Uint32Array.of(0, 0, 1, 1),
    lineNumber: Uint32Array.of(7, 9, 2, 3),
    lineSamples: Float64Array.of(1, 0, 0, 9),
    lineWeight: Float64Array.of(10, 0, 0, 90),
  };
}

const whole = { samples: 20, weight: 200 };
const listing = listingOf([{ pieces: [piece(0x1000n), piece(0xffff_ffff_8000_0000n)], ended: null }], whole);

test("pieces of a function are one listing, with the name of what a jump leads to", () => {
  const rows = Array.from({ length: listing.count }, (_, at) => `${listing.address(at)} ${rowText(listing, at)}`);
  const own = (start: bigint): string[] =>
    [
      [0n, "push rbp"],
      [4n, 'nop  # key "größe"'],
      [6n, "(bad)"],
      [9n, "jmp 0x1000 <größe>"],
    ].map(([at, text]) => `${(start + BigInt(at as bigint)).toString(16)} ${text}`);
  assert.deepEqual(rows, [...own(0x1000n), ...own(0xffff_ffff_8000_0000n)]);
  assert.deepEqual([...listing.goesTo], [NONE, NONE, NONE, 0, NONE, NONE, NONE, 4]);
  assert.deepEqual([0, 1, 7].map(listing.bytes), ["00 01 02 03", "04 05", "09 0a 0b"]);
  // Lines of both are added up.
  assert.deepEqual(
    listing.lines.map(({ file, line, weight }) => [listing.files[file]?.path, line, weight]),
    [
      ["/src/sea.c", 7, 20],
      ["/src/sea.c", 9, 0],
      ["/src/swell.h", 2, 0],
      ["/src/swell.h", 3, 180],
    ],
  );
  assert.deepEqual(
    listing.files.map(({ weight }) => weight),
    [20, 180],
  );
  assert.equal(listing.files[listing.ownFile ?? -1]?.path, "/src/sea.c");
});

test("instructions stand below what they are of, which can be folded", () => {
  const words = (closed: number[]): string[] =>
    codeRows(listing, new Set(closed)).map((row) => (row.kind === "level" ? `level ${row.level}` : String(row.at)));
  assert.deepEqual(words([]), ["level 0", "0", "level 1", "1", "2", "level 2", "3", "4", "level 3", "5", "6", "level 4", "7"]);
  assert.deepEqual(words([1, 3]), ["level 0", "0", "level 1", "level 2", "3", "4", "level 3", "level 4", "7"]);
});

test("a file whose text is not here has its lines with code, and code behind its end is told", () => {
  const rows = (texts: string[] | null): unknown[] =>
    sourceRows(listing, 0, texts).map(({ line, text, of }) => [line, text, of?.weight ?? null]);
  assert.deepEqual(rows(null), [
    [7, null, 20],
    [9, null, 0],
  ]);
  const seven = ["a", "b", "c", "d", "e", "f", "g"];
  assert.deepEqual(rows(seven).slice(5), [
    [6, "f", null],
    [7, "g", 20],
    [9, null, 0],
  ]);
});

test("what a link tells is a listing of hot rows", () => {
  const nothing = { samples: 0, weight: 0 };
  const hot: HotLines = {
    self: { samples: 3, weight: 30 },
    lines: [
      { file: "/src/sea.c", line: 7, samples: 2, weight: 20, inlined: nothing, text: "  go();", check: "checked" },
      { file: null, line: null, samples: 1, weight: 10, inlined: nothing, text: null, check: "unknown" },
    ],
    instructions: [
      {
        address: "0x10",
        line: 7,
        lineRow: 0,
        samples: 2,
        weight: 20,
        inlined: nothing,
        inlinedFunction: "swell",
        text: "call 0x20",
      },
      { address: "0x18", line: null, lineRow: 1, samples: 1, weight: 10, inlined: nothing, inlinedFunction: null, text: null },
    ],
    leftOut: nothing,
    instructionsLeftOut: nothing,
  };
  const told = listingOfHot(hot);
  assert.deepEqual([told.address(0), told.text(0), told.line[0], told.file[0]], ["10", "call 0x20", 7, 0]);
  assert.deepEqual([told.address(1), told.text(1), told.line[1], told.file[1]], ["18", "", 0, NONE]);
  assert.equal(told.files[0]?.told, "checked");
  assert.deepEqual([told.functions, [...told.inlined]], [["swell"], [0, NONE]]);
  assert.deepEqual(
    codeRows(told, new Set()).map(({ kind }) => kind),
    ["instruction", "instruction"],
  );
  assert.deepEqual(
    sourceRows(told, 0, null).map(({ line, text }) => [line, text]),
    [[7, "  go();"]],
  );
});

test("files are looked for by how much of their path is the same", () => {
  const paths = ["/other/sea.c", "/home/me/proj/src/sea.c", "/home/me/proj/lib/src/sea.c", "/src/sea.h", "/seasea.c"];
  const found = candidates("/build/proj/./src/sea.c", paths).map(({ at, parts }) => [at, parts]);
  assert.deepEqual(found, [
    [1, 3],
    [2, 2],
    [0, 1],
  ]);
  assert.deepEqual(candidates("sea.c", ["/x/tides.c"]), []);
});

test("a line that nothing is of stands between those around it", () => {
  const lines = [
    { file: 0, line: 7 },
    { file: 0, line: 9 },
    { file: 2, line: 3 },
  ].map((place) => ({ ...place, samples: 1, weight: 1, text: null }));
  const at = (file: number, line: number): number => placeAmong(lines, { file, line });
  assert.deepEqual([at(0, 7), at(0, 9), at(2, 3)], [0, 1, 2]);
  assert.ok(at(0, 1) < 0);
  assert.ok(at(0, 8) > 0 && at(0, 8) < 1);
  assert.ok(at(0, 10) > 1 && at(1, 5) < 2);
  assert.ok(at(2, 4) > 2);
});

test("a search finds a text in any case unless it has capitals, and what it says of functions nowhere", async () => {
  const pieces = (search: string, text: string): string =>
    piecesOf(text, matcherOf(search)?.(text) ?? [])
      .map((piece) => (piece.kind === "match" ? `[${piece.text}]` : piece.text))
      .join("");
  assert.equal(pieces("mov", "MOV r8, [mov]"), "[MOV] r8, [[mov]]");
  assert.equal(pieces("Mov", "mov Move"), "mov [Mov]e");
  assert.equal(pieces("a[i], ", "x = a[i], b"), "x = [a[i],] b");
  // In lower case it is two letters.
  assert.equal(pieces("i", "\u0130 in"), "\u0130 [i]n");
  assert.equal(pieces("// sea", "x; // sea"), "x; [// sea]");
  for (const search of ["", " ", "/m.v/", "dso:libc", "file:sea.c"]) {
    assert.equal(matcherOf(search), null);
  }
  const texts = ["push rbp", "mov", "ret", "movzx"];
  const matches = matcherOf("mov") ?? assert.fail();
  const { signal } = new AbortController();
  assert.deepEqual(await findAmong(texts.length, (at) => texts[at] ?? "", matches, signal), [1, 3]);
});

test("steps go from the chosen row to the next place, and around the ends", () => {
  const places = [2, 5, 9];
  assert.deepEqual(
    [-1, 2, 4, 9].map((from) => [placeFrom(places, from, 1), placeFrom(places, from, -1)]),
    [
      [0, 2],
      [1, 2],
      [1, 0],
      [0, 1],
    ],
  );
});

/** Instructions whose jumps lead to others of them. */
function jumping(...texts: [text: string, to?: number][]): ReturnType<typeof listingOf> {
  const none = (): Uint32Array => new Uint32Array(texts.length).fill(NONE);
  const goesTo = Uint32Array.from(texts, ([, to]) => to ?? NONE);
  const starts = Uint32Array.from(texts.keys());
  const weights = new Float64Array(texts.length).fill(1);
  const columns = { starts, goesTo, target: none(), refersTo: none(), inlined: none(), file: none(), line: none().fill(0) };
  const heat = { instructionSamples: weights, instructionWeight: weights };
  const instructions = column(...texts.map(([text]) => text));
  return listingOf([{ pieces: [{ ...piece(0x1000n), ...columns, ...heat, instructions }], ended: null }], whole);
}

const bodyAround = (code: ReturnType<typeof listingOf>, at: number): number[] | null => {
  const loop = loopAround(code, at);
  return loop === null ? null : [...loop.body].sort((a, b) => a - b);
};

/** 1 to 6 is a loop, and 3 to 4 one in it; 2 leaves both, and 5 calls the whole again. */
const looping = (): ReturnType<typeof listingOf> =>
  jumping(["push rbp"], ["nop"], ["je", 7], ["nop"], ["jne", 3], ["call", 0], ["jmp", 1], ["ret"]);

test("a jump back from code that was put elsewhere makes no loop", () => {
  const code = jumping(["test eax, eax"], ["jne", 4], ["nop"], ["ret"], ["nop"], ["jmp", 2]);
  assert.deepEqual(
    [0, 1, 2, 3, 4, 5].map((at) => bodyAround(code, at)),
    Array(6).fill(null),
  );
});

test("a loop has all that leads back to its beginning", () => {
  // A switch: what the jump leads to is not known.
  const code = jumping(["nop"], ["cmp"], ["je", 8], ["jmp rax"], ["nop"], ["jmp", 1], ["nop"], ["b", 1], ["ret"]);
  assert.deepEqual(bodyAround(code, 4), [1, 2, 3, 4, 5, 6, 7]);
  assert.equal(bodyAround(code, 8), null);
  // Its end stands behind the function's.
  const apart = jumping(["nop"], ["jne", 4], ["jne", 0], ["ret"], ["nop"], ["jmp", 2]);
  assert.deepEqual(bodyAround(apart, 4), [0, 1, 2, 4, 5]);
});

test("a loop is what lies between a jump back and where it leads, and calls are no jumps", () => {
  const code = looping();
  const loops = Array.from({ length: 8 }, (_, at) => bodyAround(code, at));
  const [outer, inner] = [
    [1, 2, 3, 4, 5, 6],
    [3, 4],
  ];
  assert.deepEqual(loops, [null, outer, outer, inner, inner, outer, outer, null]);
  assert.equal(code.goesTo[5], 0, "a call can be followed all the same");
});

test("beside an instruction stand its own jump and those that lead to it", () => {
  const code = looping();
  assert.deepEqual(lanesAt(code, 5), []);
  assert.deepEqual(lanesAt(code, 4), [{ first: 3, last: 4, from: new Set([4]), to: 3 }]);
  const [lane] = lanesAt(code, 7);
  assert.deepEqual(lane, { first: 2, last: 7, from: new Set([2]), to: 7 });
  const parts = [1, 2, 3, 7].map((at) => partOf(lane ?? assert.fail(), at));
  assert.deepEqual(parts, [
    null,
    { up: false, down: true, end: "from" },
    { up: true, down: true, end: "none" },
    { up: true, down: false, end: "to" },
  ]);
});

test("a line has room for its tabs and for letters that are wide", () => {
  assert.deepEqual(["", "abc", "\tx", "ab\tx", "abcd\t", "\u65e5\u672c", "\u{1f30a}"].map(columnsOf), [0, 3, 5, 5, 8, 4, 2]);
});

test("the hottest line has the lines around it, and its instructions in order", () => {
  const hottest = hottestLine(listing.lines);
  assert.deepEqual([hottest?.file, hottest?.line, hottest?.weight], [1, 3, 180]);
  const texts = Array.from({ length: 20 }, (_, at) => `text ${at + 1}`);
  const near = nearCode(listing, hottest, texts);
  assert.deepEqual(
    near.rows.map(({ line, text }) => `${line} ${text}`),
    [1, 2, 3, 4, 5, 6, 7, 8].map((line) => `${line} text ${line}`),
  );
  assert.deepEqual(near.instructions, [2, 6]);
  assert.equal(near.more, 0);
  // Without its text there is nothing around it.
  assert.deepEqual(nearCode(listing, hottest, null).rows, []);
});

test("of an inlined function the lines that were inlined count", () => {
  const own = { ...listing, weight: Float64Array.of(500, 20, 10, 0, 0, 0, 0, 0) };
  const swell = ofInlined(own, "swell");
  assert.equal(hottestLine(swell?.lines ?? [])?.line, 2);
  // Shares are of it, and not of the function that it is inlined into.
  assert.equal(swell?.whole.weight, 30);
  assert.deepEqual([...(swell?.weight ?? [])], [0, 20, 10, 0, 0, 0, 0, 0]);
  // Nothing ended in what has this name.
  assert.equal(ofInlined(own, "foam"), null);
});

test("of a line of many instructions those with most samples are shown", () => {
  const count = 40;
  const many = {
    ...listing,
    count,
    file: new Uint32Array(count),
    line: new Uint32Array(count).fill(7),
    inlined: new Uint32Array(count).fill(NONE),
    weight: Float64Array.from({ length: count }, (_, at) => (at % 4 === 1 ? 100 + at : 1)),
    lines: [{ file: 0, line: 7, samples: 40, weight: 1225, text: null }],
  };
  const near = nearCode(many, hottestLine(many.lines), null);
  assert.deepEqual(near.instructions, [1, 5, 9, 13, 17, 21, 25, 29, 33, 37]);
  assert.equal(near.more, 30);
});

test("without lines the instructions around the hottest one are shown", () => {
  const bare = { ...listing, lines: [], line: new Uint32Array(8), file: new Uint32Array(8).fill(NONE) };
  assert.deepEqual(nearCode(bare, hottestLine(bare.lines), null).instructions, [0, 1, 2, 3, 4, 5, 6, 7]);
});

test("instructions ran as often as the blocks that they are in", () => {
  const block = { file: null, line: null, mispredicted: 1, cycles: 30, timed: 4, ways: [], moreWays: 0 };
  const blocks = [
    // Behind a branch at 0, so that it begins with the instruction after that.
    { ...block, start: "0x0", isBehind: true, last: "0x6", isLeft: true, executions: 6, taken: 4 },
    { ...block, start: "0x9", isBehind: false, last: "0x9", isLeft: false, executions: 1234, taken: 0 },
  ];
  const ran = ranOf(listingOf([{ pieces: [piece(0x1000n)], ended: null }], whole), blocks);
  assert.deepEqual([...ran.times], [0, 6, 6, 1234]);
  const words = (at: number): string => ranWords(ran, at).replaceAll(/\s/g, " ");
  assert.equal(words(2), "Ran 6 times; as a branch taken 66.7 %, mispredicted 25.0 %, 7.5 cycles");
  assert.equal(words(3), "Ran 1,234 times");
});

test("a line says where others are left out above it", () => {
  const rows = [5, 6, 9].map((line) => ({ line, text: null, of: null }));
  assert.deepEqual(
    rows.map((_, at) => isBehindGap(rows, at)),
    [false, false, true],
  );
});

test("space that all lines begin with is left out", () => {
  assert.deepEqual(dedented(["\tfor (;;) {", "", "\t\tsum += x;  ", "    }"]), ["for (;;) {", "", "    sum += x;", "}"]);
  assert.deepEqual(dedented([""]), [""]);
});

test("a file that is chosen among several says where its folder is", () => {
  const { from, to } = movedFolder("/build/x/./src/sea.c", "other/src/sea.c");
  assert.deepEqual([from, to], ["build/x", "other"]);
  const folders = new Map([[from, to]]);
  assert.equal(movedPath("/build/x/src/deep/swell.h", folders), "other/src/deep/swell.h");
  assert.equal(movedPath("/build/xy/sea.c", folders), null);
  // Which is the one to forget.
  assert.equal(movingFolder("/build/x/src/deep/swell.h", folders), from);
  assert.equal(movingFolder("/build/xy/sea.c", folders), null);
  assert.equal(
    movedPath(
      "/build/x/sea.c",
      new Map([
        ["", "all"],
        [from, ""],
      ]),
    ),
    "sea.c",
  );
});

test("why a function has no code is told by whether it is inlined", async () => {
  const reference = { dso: { path: "/bin/sea", buildId: null }, name: "swell", address: null };
  const words = async (inlined: object | null): Promise<unknown> => {
    const call = async (_: string, { query }: { query: { inlines: string } }): Promise<unknown> =>
      query.inlines === "shown" ? inlined : null;
    const question = { session: { call }, query: {}, syntax: "intel", functionId: null, callNode: null, reference };
    return await readCode(question as unknown as CodeQuestion, new AbortController());
  };
  assert.match(String(await words({})), /^swell is inlined wherever it was sampled/);
  // Another event may have samples of it.
  assert.match(String(await words(null)), /^No samples of swell are shown/);
});

test("a program called java or go is no source", () => {
  const isIt = (name: string): boolean => isSource({ file: new File([], name), folder: "" });
  assert.deepEqual(["a.java", "b.GO", "x.tar.c"].map(isIt), [true, true, true]);
  assert.deepEqual(["java", "go", "d", "a.out"].map(isIt), [false, false, false, false]);
});
