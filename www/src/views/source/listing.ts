// The code of a function as rows: instructions below the levels of inlining that they are of, and lines of source files. Without
// state. What a link holds of it is the same, with rows for what is hot alone.

import type { CodeFrom, CodePiece, HotLines, ListedCode, TextCheck, TextColumn } from "../../session/types.ts";
import { NONE } from "../../session/types.ts";

/** By instruction, in order. */
export interface Listing {
  /** What ended in the function, which shares are of. */
  whole: { samples: number; weight: number };
  count: number;
  samples: Float64Array;
  weight: Float64Array;
  /** Numbers of `files` and `functions`; NONE for none. */
  file: Uint32Array;
  inlined: Uint32Array;
  /** 0 for none. */
  line: Uint32Array;
  /** The number of the instruction that it leads to; NONE for none. */
  goesTo: Uint32Array;
  /** The same without calls. */
  jumpsTo: Uint32Array;
  address: (at: number) => string;
  /** The same as blocks between branches have it. */
  place: (at: number) => bigint;
  /** Empty where it is not known. */
  text: (at: number) => string;
  /** What stands behind it: what it refers to, `  # name "text"`; empty for nothing. */
  comment: (at: number) => string;
  /** "48 89 e5"; empty where they are not known. */
  bytes: (at: number) => string;
  functions: readonly string[];
  files: readonly SourceFile[];
  /** The number of the file that the function itself is in. */
  ownFile: number | null;
  /** By file and line. */
  lines: readonly ListedLine[];
  /** Whether all instructions are here, and not only those where samples ended. */
  isWhole: boolean;
  /** What has it: a file's if any of it is. */
  from: CodeFrom;
  /** Why it is not all that samples ended in. */
  ended: ListedCode["ended"];
}

export interface SourceFile {
  path: string;
  /** Of what was compiled, where that is known. */
  md5: Uint8Array | null;
  weight: number;
  /** Code that was made of it, in its file's own addresses: where there is a file. */
  code: { dso: number; address: bigint } | null;
  /** The same as frames have it. */
  at: { dso: number; address: bigint } | null;
  /** What a link says for the text that it has of it; null if it has none. */
  told: TextCheck | null;
}

export interface ListedLine {
  file: number;
  line: number;
  samples: number;
  weight: number;
  /** What a link says of it. */
  text: string | null;
}

const decoder = new TextDecoder();

function textOf({ texts, ends }: TextColumn, at: number): string {
  return decoder.decode(texts.subarray(at === 0 ? 0 : ends[at - 1], ends[at]));
}

const CALLS = ["call", "bl "].map((word) => new TextEncoder().encode(word));

/** Of an instruction that leads somewhere, by how its text begins. */
function isCall({ texts, ends }: TextColumn, at: number): boolean {
  const from = at === 0 ? 0 : (ends[at - 1] ?? 0);
  return CALLS.some((word) => word.every((letter, place) => texts[from + place] === letter));
}

function allOf(column: TextColumn): string[] {
  return Array.from(column.ends, (_, at) => textOf(column, at));
}

/** Of what matched files say. */
export function listingOf(listed: readonly ListedCode[], whole: Listing["whole"]): Listing {
  const pieces = listed.flatMap((of) => of.pieces);
  const count = pieces.reduce((sum, { starts }) => sum + starts.length, 0);
  const files = new Numbered<SourceFile>();
  const functions = new Numbered<string>();
  const numbers = (): Uint32Array => new Uint32Array(count).fill(NONE);
  const columns = { file: numbers(), inlined: numbers(), goesTo: numbers(), jumpsTo: numbers(), line: new Uint32Array(count) };
  const [samples, weight] = [new Float64Array(count), new Float64Array(count)];
  const lines = new Map<string, ListedLine>();
  const begins: number[] = [];
  let first = 0;
  let ownFile: number | null = null;
  for (const piece of pieces) {
    begins.push(first);
    const fileNumbers = allOf(piece.files).map((path, at) => {
      const md5 = piece.md5s[at] ?? null;
      // One path may stand for what was compiled from two contents.
      return files.number(`${md5?.join() ?? ""} ${path}`, () => {
        const address = piece.fileAddresses[at] ?? 0n;
        return { path, md5, weight: 0, code: null, at: { dso: piece.dso, address }, told: null };
      });
    });
    ownFile ??= fileNumbers[piece.ownFile] ?? null;
    const functionNumbers = allOf(piece.functions).map((name) => functions.number(name, () => name));
    for (let at = 0; at < piece.starts.length; at++) {
      const to = first + at;
      columns.file[to] = fileNumbers[piece.file[at] ?? NONE] ?? NONE;
      const file = files.all[columns.file[to]];
      if (file !== undefined) {
        file.code ??= { dso: piece.dso, address: piece.startInFile + BigInt(piece.starts[at] ?? 0) };
      }
      columns.inlined[to] = functionNumbers[piece.inlined[at] ?? NONE] ?? NONE;
      const goesTo = piece.goesTo[at] ?? NONE;
      columns.goesTo[to] = goesTo === NONE ? NONE : first + goesTo;
      columns.jumpsTo[to] = goesTo === NONE || isCall(piece.instructions, at) ? NONE : first + goesTo;
    }
    columns.line.set(piece.line, first);
    samples.set(piece.instructionSamples, first);
    weight.set(piece.instructionWeight, first);
    for (let at = 0; at < piece.lineFile.length; at++) {
      const file = fileNumbers[piece.lineFile[at] ?? NONE] ?? NONE;
      const line = piece.lineNumber[at] ?? 0;
      const known = lines.get(`${file} ${line}`) ?? { file, line, samples: 0, weight: 0, text: null };
      known.samples += piece.lineSamples[at] ?? 0;
      known.weight += piece.lineWeight[at] ?? 0;
      lines.set(`${file} ${line}`, known);
    }
    first += piece.starts.length;
  }
  const placeOf = (at: number): [CodePiece | undefined, number] => {
    const number = begins.findLastIndex((begin) => begin <= at);
    return [pieces[number], at - (begins[number] ?? 0)];
  };
  const ended = listed.map((of) => of.ended).find((why) => why !== null) ?? null;
  return {
    ...finished(files.all, [...lines.values()]),
    ...columns,
    ownFile,
    whole,
    count,
    samples,
    weight,
    functions: functions.all,
    address: (at) => {
      const [piece, within] = placeOf(at);
      return piece === undefined ? "" : (piece.startInFile + BigInt(piece.starts[within] ?? 0)).toString(16);
    },
    place: (at) => {
      const [piece, within] = placeOf(at);
      return piece === undefined ? 0n : piece.start + BigInt(piece.starts[within] ?? 0);
    },
    text: (at) => {
      const [piece, within] = placeOf(at);
      if (piece === undefined) {
        return "";
      }
      const text = textOf(piece.instructions, within) || "(bad)";
      const target = piece.target[within] ?? NONE;
      const name = target === NONE ? "" : textOf(piece.targets, target);
      return name === "" ? text : `${text} <${name}>`;
    },
    comment: (at) => {
      const [piece, within] = placeOf(at);
      const number = piece?.refersTo[within] ?? NONE;
      const what = piece === undefined || number === NONE ? "" : textOf(piece.references, number);
      return what === "" ? "" : `  # ${what}`;
    },
    bytes: (at) => {
      const [piece, within] = placeOf(at);
      const bytes = piece?.bytes.subarray(piece.starts[within], piece.starts[within + 1]) ?? [];
      return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(" ");
    },
    isWhole: true,
    from: pieces.every((piece) => piece.from === "memory") ? "memory" : "file",
    ended,
  };
}

/** An instruction as its row has it. */
export function rowText(listing: Listing, at: number): string {
  return `${listing.text(at)}${listing.comment(at)}`;
}

/** Of where samples ended, which is known without any file. */
export function listingOfHot({ self, lines: hotLines, instructions }: HotLines): Listing {
  const files = new Numbered<SourceFile>();
  const fileOf = (path: string | null): number =>
    path === null ? NONE : files.number(path, () => ({ path, md5: null, weight: 0, code: null, at: null, told: null }));
  const lines = hotLines.flatMap(({ file, line, samples, weight, text }) =>
    file === null || line === null ? [] : [{ file: fileOf(file), line, samples, weight, text }],
  );
  for (const { file, text, check } of hotLines) {
    const of = files.all[fileOf(file)];
    if (of !== undefined && text !== null) {
      of.told = check;
    }
  }
  const rows = instructions.map((row) => ({ ...row, of: hotLines[row.lineRow ?? -1] }));
  const functions = new Numbered<string>();
  const numberOf = (name: string | null): number => (name === null ? NONE : functions.number(name, () => name));
  return {
    ...finished(files.all, lines),
    whole: self,
    count: rows.length,
    samples: Float64Array.from(rows, ({ samples }) => samples),
    weight: Float64Array.from(rows, ({ weight }) => weight),
    file: Uint32Array.from(rows, ({ of }) => fileOf(of?.file ?? null)),
    inlined: Uint32Array.from(rows, ({ inlinedFunction }) => numberOf(inlinedFunction)),
    line: Uint32Array.from(rows, ({ line }) => line ?? 0),
    goesTo: new Uint32Array(rows.length).fill(NONE),
    jumpsTo: new Uint32Array(rows.length).fill(NONE),
    functions: functions.all,
    ownFile: files.all.length === 0 ? null : 0,
    address: (at) => rows[at]?.address.replace("0x", "") ?? "",
    place: (at) => BigInt(rows[at]?.address ?? 0),
    text: (at) => rows[at]?.text ?? "",
    comment: () => "",
    bytes: () => "",
    isWhole: false,
    from: "file",
    ended: null,
  };
}

function finished(files: readonly SourceFile[], lines: ListedLine[]): Pick<Listing, "files" | "lines"> {
  for (const { file, weight } of lines) {
    const of = files[file];
    if (of !== undefined) {
      of.weight += weight;
    }
  }
  lines.sort((one, other) => one.file - other.file || one.line - other.line);
  return { files, lines };
}

/** The number of a line among those that there is code of; of another, a number between those around it. */
export function placeAmong(lines: readonly ListedLine[], { file, line }: Pick<ListedLine, "file" | "line">): number {
  const at = lines.findIndex((other) => other.file > file || (other.file === file && other.line >= line));
  const next = lines[at];
  if (next === undefined) {
    return lines.length;
  }
  return next.file === file && next.line === line ? at : at - 0.5;
}

/** Things by the order in which they came. */
class Numbered<T> {
  readonly all: T[] = [];
  readonly #numbers = new Map<string, number>();

  number(key: string, make: () => T): number {
    const known = this.#numbers.get(key);
    if (known !== undefined) {
      return known;
    }
    this.#numbers.set(key, this.all.length);
    return this.all.push(make()) - 1;
  }
}

/** An instruction, or what the instructions below are of. */
export type CodeRow = { kind: "instruction"; at: number } | { kind: "level"; at: number; level: number; isOpen: boolean };

/** `closed` are levels whose instructions are folded, by their numbers. */
export function codeRows(listing: Listing, closed: ReadonlySet<number>): CodeRow[] {
  const rows: CodeRow[] = [];
  let [level, isOpen] = [-1, true];
  const { inlined, count } = listing;
  for (let at = 0; at < count; at++) {
    // Rows of what is hot alone do not lie side by side.
    if (listing.isWhole && (at === 0 || inlined[at] !== inlined[at - 1])) {
      level += 1;
      isOpen = !closed.has(level);
      rows.push({ kind: "level", at, level, isOpen });
    }
    if (isOpen) {
      rows.push({ kind: "instruction", at });
    }
  }
  return rows;
}

/** A line of a file: what stands there, and what ended there. */
export interface SourceRow {
  line: number;
  text: string | null;
  /** Null where there is no code. */
  of: ListedLine | null;
}

const TAB = 4;
/** What has not the width of a letter: from U+2E80 on scripts have some that are twice as wide. */
const ODD = /[\t\u2e80-\uffff]/;

/** Letters of a line that are shown: more in one are none that somebody wrote, and take a browser seconds. */
const MOST_LETTERS = 2_000;

/** A line as it is shown; searched and highlighted is all of it. */
export function shownText(text: string): string {
  return text.length > MOST_LETTERS ? `${text.slice(0, MOST_LETTERS)}…` : text;
}

/** How many letters of the usual width a text is wide: no less than it needs. */
export function columnsOf(text: string): number {
  if (!ODD.test(text)) {
    return text.length;
  }
  let columns = 0;
  for (const letter of text) {
    columns += letter === "\t" ? TAB - (columns % TAB) : ODD.test(letter) ? 2 : 1;
  }
  return columns;
}

/** All lines of a file whose text is here, else those with code. */
export function sourceRows({ lines }: Listing, file: number, texts: readonly string[] | null): SourceRow[] {
  const own = lines.filter((line) => line.file === file);
  if (texts === null) {
    return own.map((of) => ({ line: of.line, text: of.text, of }));
  }
  const byLine = new Map(own.map((of) => [of.line, of]));
  const rows = texts.map((text, at): SourceRow => ({ line: at + 1, text, of: byLine.get(at + 1) ?? null }));
  // Code behind the end of the file is of another one, and is told all the same.
  return [...rows, ...own.filter(({ line }) => line > texts.length).map((of) => ({ line: of.line, text: null, of }))];
}

/** Whether lines of the file are left out before a row: it looks like the next one otherwise. */
export function isBehindGap(rows: readonly SourceRow[], at: number): boolean {
  const [before, row] = [rows[at - 1], rows[at]];
  return before !== undefined && row !== undefined && before.line + 1 !== row.line;
}

/** The one in which most samples ended; null where none did. */
export function hottestLine(lines: readonly ListedLine[]): ListedLine | null {
  const heaviest = lines.reduce((most, { weight }) => Math.max(most, weight), 0);
  return heaviest === 0 ? null : (lines.find(({ weight }) => weight === heaviest) ?? null);
}

export function partsOf(path: string): string[] {
  return path.split("/").filter((part) => part !== "" && part !== ".");
}

/** How many last parts two paths have in common. */
export function commonParts(one: string, other: string): number {
  const [a, b] = [partsOf(one), partsOf(other)];
  let common = 0;
  while (common < a.length && common < b.length && a.at(-1 - common) === b.at(-1 - common)) {
    common += 1;
  }
  return common;
}

/** The paths that may be a file's, best first: those that end as it does. Of equals nothing tells which. */
export function candidates(path: string, paths: readonly string[]): { at: number; parts: number }[] {
  return paths
    .map((each, at) => ({ at, parts: commonParts(path, each) }))
    .filter(({ parts }) => parts > 0)
    .sort((one, other) => other.parts - one.parts);
}

/** What two paths begin with where they differ: the folder that was recorded, and the one that it is. */
export function movedFolder(path: string, given: string): { from: string; to: string } {
  const common = commonParts(path, given);
  const without = (whole: string): string => {
    const parts = partsOf(whole);
    return parts.slice(0, parts.length - common).join("/");
  };
  return { from: without(path), to: without(given) };
}

/** Of such folders the longest one that a file lay in; null if it lay in none. */
export function movingFolder(path: string, folders: ReadonlyMap<string, string>): string | null {
  const parts = partsOf(path);
  for (let count = parts.length - 1; count >= 0; count--) {
    const folder = parts.slice(0, count).join("/");
    if (folders.has(folder)) {
      return folder;
    }
  }
  return null;
}

/** Where a file is by that folder; null if it lay in none. */
export function movedPath(path: string, folders: ReadonlyMap<string, string>): string | null {
  const from = movingFolder(path, folders);
  if (from === null) {
    return null;
  }
  return [...partsOf(folders.get(from) ?? ""), ...partsOf(path).slice(partsOf(from).length)].join("/");
}
