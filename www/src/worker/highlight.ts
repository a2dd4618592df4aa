// What the words of a source file are: comments, strings, numbers and what belongs to its language. Without state between files.
//
// CodeMirror's stream modes go line by line with a state, so that a comment of several lines is one, in a few kB for each
// language. Prism and highlight.js take a file as one text, and Lezer parses it into a tree that nobody needs here.

import { c, cpp, java, kotlin } from "@codemirror/legacy-modes/mode/clike";
import { gas } from "@codemirror/legacy-modes/mode/gas";
import { go } from "@codemirror/legacy-modes/mode/go";
import { javascript, typescript } from "@codemirror/legacy-modes/mode/javascript";
import { python } from "@codemirror/legacy-modes/mode/python";
import { rust } from "@codemirror/legacy-modes/mode/rust";
import type { StreamParser } from "@codemirror/streamparser";
import { StringStream } from "@codemirror/streamparser";
import type { Language } from "../session/highlight.ts";
import { Word } from "../session/highlight.ts";

const MODES: Record<Language, StreamParser<unknown>> = {
  assembly: gas,
  c,
  "c++": cpp,
  go,
  java,
  javascript,
  kotlin,
  python,
  rust,
  typescript,
};

const INDENT = 4;

/** Modes call a word "string.special" or "keyword control". */
const WORDS: Record<string, Word> = {
  comment: Word.Comment,
  string: Word.String,
  regexp: Word.String,
  number: Word.Number,
  keyword: Word.Keyword,
  atom: Word.Keyword,
  builtin: Word.Keyword,
  type: Word.Keyword,
  meta: Word.Keyword,
};

/** How often a mode may look at one place before it is passed over. */
const MOST_LOOKS = 10;

/** The words of a file, line after line. */
export class Highlighter {
  readonly #mode: StreamParser<unknown>;
  readonly #state: unknown;

  constructor(language: Language) {
    this.#mode = MODES[language];
    this.#state = this.#mode.startState?.(INDENT) ?? {};
  }

  /** Pairs for the next line: where a run of letters ends, and what it is. */
  line(text: string): number[] {
    if (text === "") {
      this.#mode.blankLine?.(this.#state, INDENT);
      return [];
    }
    const stream = new StringStream(text, INDENT, INDENT);
    const runs: number[] = [];
    while (!stream.eol()) {
      const word = this.#next(stream);
      if (runs.at(-1) === word) {
        runs[runs.length - 2] = stream.pos;
      } else {
        runs.push(stream.pos, word);
      }
    }
    return runs;
  }

  #next(stream: StringStream): Word {
    stream.start = stream.pos;
    for (let looks = 0; looks < MOST_LOOKS; looks++) {
      const name = this.#mode.token(stream, this.#state);
      if (stream.pos > stream.start) {
        const [first = ""] = name?.split(/[ .]/) ?? [];
        return Object.hasOwn(WORDS, first) ? (WORDS[first] ?? Word.Other) : Word.Other;
      }
    }
    stream.next();
    return Word.Other;
  }
}
