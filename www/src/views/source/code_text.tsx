// A line of code, in which what is searched is marked.

import type { JSX } from "preact";
import { matcher } from "./code_search.ts";
import { piecesOf } from "./find.ts";

export function CodeText({ text }: { text: string }): JSX.Element {
  const pieces = piecesOf(text, matcher.value);
  return <>{pieces.map(({ text: piece, isMatch }, at) => (isMatch ? <mark key={at}>{piece}</mark> : piece))}</>;
}
