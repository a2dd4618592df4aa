// A line of code, in the colours of its language, in which what is searched is marked.

import type { JSX } from "preact";
import { Word } from "../../session/highlight.ts";
import { matcher } from "./code_search.ts";
import { piecesOf } from "./find.ts";
import { shownText } from "./listing.ts";

const CLASSES: Record<number, string> = {
  [Word.Keyword]: "word-keyword",
  [Word.String]: "word-string",
  [Word.Number]: "word-number",
  [Word.Comment]: "word-comment",
};

const PLAIN: ArrayLike<number> = [];

export function CodeText({ text, runs = PLAIN }: { text: string; runs?: ArrayLike<number> }): JSX.Element {
  const shown = shownText(text);
  const pieces = piecesOf(shown, matcher.value?.(shown) ?? [], runs);
  return (
    <>
      {pieces.map(({ text: piece, kind }, at) => {
        if (kind === "match") {
          return <mark key={at}>{piece}</mark>;
        }
        const name = CLASSES[kind];
        return name === undefined ? (
          piece
        ) : (
          <span key={at} class={name}>
            {piece}
          </span>
        );
      })}
    </>
  );
}
