// The words of the file that is shown, as a worker tells them. The page carries it behind everything else, and it is unpacked
// when the first file is shown.

import { effect, signal } from "@preact/signals";
import type { HighlightedLines, HighlightRequest, Language } from "../../session/highlight.ts";
import { packedScript } from "../../session/packed_script.ts";
import { nextTask } from "../../worker/slices.ts";
import { file, text } from "./state.ts";

const LANGUAGES: readonly (readonly [Language, suffixes: string])[] = [
  ["assembly", "s asm"],
  ["c", "c"],
  // Of C, too.
  ["c++", "c++ cc cpp cu cxx h h++ hh hpp hxx inc inl ipp tcc"],
  ["go", "go"],
  ["java", "java"],
  ["javascript", "js mjs"],
  ["kotlin", "kt"],
  ["python", "py pyx"],
  ["rust", "rs"],
  ["typescript", "ts"],
];

const languages = new Map(LANGUAGES.flatMap(([language, suffixes]) => suffixes.split(" ").map((each) => [each, language])));

/** SQLite's one file has 9,000,000. */
const MOST_LETTERS = 10_000_000;

/** In the order of the lines. */
const parts = signal<readonly HighlightedLines[]>([]);

/** Highlights the file that is shown, while the view is in sight; the answer ends it. */
export function followHighlights(): () => void {
  return effect(() => {
    const [path, known] = [file.value?.path ?? "", text.value];
    const language = languages.get(path.slice(path.lastIndexOf(".") + 1).toLowerCase());
    parts.value = [];
    if (known?.kind !== "here" || language === undefined) {
      return;
    }
    const abort = new AbortController();
    // Without colours it reads as well.
    highlight(language, known.lines, abort.signal).catch(() => {});
    return () => abort.abort();
  });
}

async function highlight(language: Language, lines: readonly string[], signal: AbortSignal): Promise<void> {
  if (lines.reduce((sum, line) => sum + line.length, 0) > MOST_LETTERS) {
    return;
  }
  const script = await workerScript();
  // A long file has just been shown: what it takes to make one text of it is a task of its own.
  await nextTask();
  if (signal.aborted) {
    return;
  }
  const address = URL.createObjectURL(script);
  const worker = new Worker(address, { name: "highlight" });
  worker.onmessage = ({ data }: MessageEvent<HighlightedLines>) => {
    URL.revokeObjectURL(address);
    parts.value = [...parts.peek(), data];
  };
  signal.addEventListener("abort", () => worker.terminate());
  worker.postMessage({ language, text: lines.join("\n") } satisfies HighlightRequest);
}

let unpacked: Promise<Blob> | null = null;

function workerScript(): Promise<Blob> {
  unpacked ??= packedScript("highlight");
  return unpacked;
}

const NONE = new Uint16Array();

/** Pairs for a line, from 1: where a run of letters ends, and what it is. None of one that is not known yet. */
export function runsOf(line: number): Uint16Array {
  const at = line - 1;
  const part = parts.value.find(({ first, ends }) => at >= first && at < first + ends.length);
  return part?.runs.subarray(at === part.first ? 0 : part.ends[at - part.first - 1], part.ends[at - part.first]) ?? NONE;
}
