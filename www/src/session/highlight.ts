// What the page and the worker that highlights source files say to each other.

/** What a run of letters is. */
export enum Word {
  Other,
  Keyword,
  String,
  Number,
  Comment,
}

export type Language = "assembly" | "c" | "c++" | "go" | "java" | "javascript" | "kotlin" | "python" | "rust" | "typescript";

/** A file, whose lines end with "\n". */
export interface HighlightRequest {
  language: Language;
  text: string;
}

/** Lines of it. */
export interface HighlightedLines {
  /** The number of the first, from 0. */
  first: number;
  /** By line, where its runs end. */
  ends: Uint32Array;
  /** Pairs: where a run ends in its line, and what it is. */
  runs: Uint16Array;
}
