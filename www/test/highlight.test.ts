import assert from "node:assert/strict";
import { test } from "node:test";
import type { Language } from "../src/session/highlight.ts";
import { Word } from "../src/session/highlight.ts";
import { piecesOf } from "../src/views/source/find.ts";
import { Highlighter } from "../src/worker/highlight.ts";

const NAMES: Partial<Record<Word | "match", string>> = {
  [Word.Keyword]: "k",
  [Word.String]: "s",
  [Word.Number]: "n",
  [Word.Comment]: "c",
};

/** Words with what they are in front: "k:int main". */
function words(language: Language, ...lines: string[]): string[] {
  const highlighter = new Highlighter(language);
  return lines.map((line) =>
    piecesOf(line, [], highlighter.line(line))
      .map(({ text, kind }) => (NAMES[kind] === undefined ? text : `${NAMES[kind]}:${text}`))
      .join(""),
  );
}

test("words of each language are told apart", () => {
  const first = (language: Language, line: string): string | undefined => words(language, line)[0];
  assert.equal(first("c", 'return 7 + f("a"); // b'), 'k:return n:7 + f(s:"a"); c:// b');
  assert.equal(first("c++", "template <class T> x;"), "k:template <k:class T> x;");
  assert.equal(first("rust", "let x = 0x1f_u8; // b"), "k:let x = n:0x1f_u8; c:// b");
  assert.equal(first("go", 'func f() { return "a" }'), 'k:func f() { k:return s:"a" }');
  assert.equal(first("python", "def f(): return 'a' # b"), "k:def f(): k:return s:'a' c:# b");
  assert.equal(first("javascript", "const x = `a`; // b"), "k:const x = s:`a`; c:// b");
  assert.equal(first("typescript", "interface A { b: 1 }"), "k:interface A { b: n:1 }");
  assert.equal(first("java", 'class A { String b = "c"; }'), 'k:class A { k:String b = s:"c"; }');
  assert.equal(first("kotlin", "fun f() = 1 // b"), "k:fun f() = n:1 c:// b");
});

test("what begins in one line goes on in the next", () => {
  assert.deepEqual(words("c", "int a; /* b", "", "c */ int d;"), ["k:int a; c:/* b", "", "c:c */ k:int d;"]);
  assert.deepEqual(words("python", 'a = """b', 'c""" + 1'), ['a = s:"""b', 's:c""" + n:1']);
  assert.deepEqual(words("rust", "/* a", "b */ let c;"), ["c:/* a", "c:b */ k:let c;"]);
});

test("runs of any text end where the text does, and go on", () => {
  const texts = ["\0\0", "\u{1f30a}'\u{1f30a}", '"\\', "`${`${", 'r#"##', "'''", "{[(<", "@#$%^&*", "é".repeat(2000), "/*", "\\"];
  for (const language of [
    "assembly",
    "c",
    "c++",
    "go",
    "java",
    "javascript",
    "kotlin",
    "python",
    "rust",
    "typescript",
  ] as const) {
    const highlighter = new Highlighter(language);
    for (const text of [...texts, "", ...texts.toReversed()]) {
      const runs = highlighter.line(text);
      const ends = runs.filter((_, at) => at % 2 === 0);
      assert.deepEqual(
        ends,
        [...new Set(ends)].sort((a, b) => a - b),
        `${language}: ${text}`,
      );
      assert.equal(ends.at(-1) ?? 0, text.length, `${language}: ${text}`);
    }
  }
});

test("what is searched is marked across words", () => {
  const runs = new Highlighter("c").line("return 70;");
  const pieces = piecesOf("return 70;", [[5, 8]], runs);
  assert.deepEqual(
    pieces.map(({ text, kind }) => [text, kind]),
    [
      ["retur", Word.Keyword],
      ["n 7", "match"],
      ["0", Word.Number],
      [";", Word.Other],
    ],
  );
});
