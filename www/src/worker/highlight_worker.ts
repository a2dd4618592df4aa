// Highlights one file, from its beginning to its end. A worker of its own: no mode can block the page, whatever a file holds.

import type { HighlightedLines, HighlightRequest } from "../session/highlight.ts";
import { Highlighter } from "./highlight.ts";

/** Lines that are told at once: few first, as those may be in sight. */
const FIRST_LINES = 1 << 9;
const LINES = 1 << 13;

self.onmessage = ({ data: { language, text } }: MessageEvent<HighlightRequest>): void => {
  const highlighter = new Highlighter(language);
  const lines = text.split("\n");
  let first = 0;
  while (first < lines.length) {
    const runs: number[] = [];
    const part = lines.slice(first, first + (first === 0 ? FIRST_LINES : LINES));
    const ends = part.map((line) => {
      for (const number of highlighter.line(line)) {
        runs.push(number);
      }
      return runs.length;
    });
    postMessage({ first, ends: Uint32Array.from(ends), runs: Uint16Array.from(runs) } satisfies HighlightedLines);
    first += part.length;
  }
};
