// The function whose code is shown, what the session says of it, and which row is chosen.

import { batch, computed, effect, signal } from "@preact/signals";
import { ask } from "../../session/ask.ts";
import type { Session } from "../../session/client.ts";
import type { FunctionRows, Query, Syntax } from "../../session/types.ts";
import { NONE } from "../../session/types.ts";
import { linesOf, namesGeneration, phase, query, selection, session } from "../../state/app.ts";
import { amendStep } from "../../state/history.ts";
import { recall, remember } from "../../state/storage.ts";
import { latest } from "../latest.ts";
import { LoadedRows } from "../rows/loaded_rows.ts";
import { blocksOf, hasBranches } from "../sandwich/lines/blocks_state.ts";
import { isSameFunction, nextHot } from "../sandwich/lines/hot_lines.ts";
import { share } from "../words.ts";
import type { Lane, Loop } from "./jumps.ts";
import { lanesAt, loopAround } from "./jumps.ts";
import type { CodeRow } from "./listing.ts";
import { codeRows, columnsOf, hottestLine, isBehindGap, placeAmong, shownText, sourceRows } from "./listing.ts";
import type { CodeQuestion, ShownCode } from "./read_code.ts";
import { mergedQuery, readCode } from "./read_code.ts";
import type { Ran } from "./ran.ts";
import { ranOf } from "./ran.ts";
import { findSource, keyOf, sourceTexts } from "./sources.ts";

/** What stands side by side. */
export const PANES = ["both", "source", "assembly"] as const;
export const panes = signal(recall("sourcePanes", PANES, "both"));
/** What shares are of. */
export const BASES = ["function", "shown"] as const;
export const base = signal(recall("sourceBase", BASES, "function"));
export const SYNTAXES = [
  ["intel", "Intel"],
  ["att", "AT&T"],
] as const;
export const syntax = signal(recall<Syntax>("sourceSyntax", ["intel", "att"], "intel"));
/** Whether the bytes of instructions stand beside them. */
export const BYTES = [
  ["hidden", "hidden"],
  ["shown", "shown"],
] as const;
export const codeBytes = signal(recall("sourceBytes", ["hidden", "shown"], "hidden"));
effect(() => remember("sourceSyntax", syntax.value));
effect(() => remember("sourceBytes", codeBytes.value));
effect(() => remember("sourcePanes", panes.value));
effect(() => remember("sourceBase", base.value));

const merged = computed(() => mergedQuery(query.value));

interface ListQuestion {
  session: Session;
  query: Query;
}

/** Those in which most samples ended. */
export const hottest = new LoadedRows<ListQuestion, FunctionRows>(({ session: asked, query: of }, from, to, options) =>
  asked.call("functions", { query: of, order: { key: "self", direction: "descending" }, from, to }, options),
);

/** null while it is asked for the first time, and while nothing is selected. */
export const shown = signal<ShownCode | null>(null);
/** Why there is nothing to show. */
export const empty = signal<string | null>(null);

const answers = latest<CodeQuestion, ShownCode | string>({
  ask: readCode,
  deliver: (found) => {
    batch(() => {
      const before = shown.peek();
      shown.value = typeof found === "string" ? null : found;
      empty.value = typeof found === "string" ? found : null;
      if (!isSameFunction(before?.reference ?? null, shown.value?.reference ?? null)) {
        closed.value = new Set();
        pointed.value = null;
        chosenFile.value = null;
        chooseHottest();
      }
    });
  },
  fail: (error) => {
    empty.value = error instanceof Error ? error.message : String(error);
    shown.value = null;
  },
});

/** How often its instructions ran; null where no branches were recorded. */
export const ran = signal<Ran | null>(null);

/** Asks while the view is in sight; the answer ends it. */
export function followCode(): () => void {
  const stops = [
    effect(() => {
      void namesGeneration.value;
      const asked = session.value;
      if (asked !== null && phase.value.kind === "open") {
        hottest.ask({ session: asked, query: merged.value });
      }
    }),
    effect(() => {
      void namesGeneration.value;
      const asked = session.value;
      const { functionId = null, callNode = null } = selection.value ?? {};
      if (asked === null || phase.value.kind !== "open") {
        answers.drop();
        return;
      }
      const isNone = functionId === null && callNode === null;
      const reference = isNone ? linesOf.peek() : null;
      const first = hottest.newest.value === null ? undefined : hottest.row(0);
      const hot = first?.columns.functionId[first.index];
      if (isNone && reference === null && hot === undefined) {
        shown.value = null;
        return;
      }
      const known = { functionId: isNone ? (hot ?? null) : functionId, callNode, reference };
      answers.ask({ session: asked, query: query.value, syntax: syntax.value, ...known });
    }),
    // The address says which function, once somebody has chosen one.
    effect(() => {
      const reference = shown.value?.reference ?? null;
      if (reference !== null && selection.value !== null && !isSameFunction(linesOf.peek(), reference)) {
        amendStep(() => {
          linesOf.value = reference;
        });
      }
    }),
    effect(() => {
      const [asked, of] = [session.value, file.value];
      if (asked !== null && of !== null) {
        findSource(asked, of).catch(() => {});
      }
    }),
    effect(() => {
      const [asked, of, within] = [session.value, shown.value, query.value];
      if (!hasBranches.value || asked === null || of === null || !of.listing.isWhole) {
        ran.value = null;
        return undefined;
      }
      return ask(
        ({ signal: abort }) => blocksOf(asked, within, of.reference, abort, () => {}),
        (found) => {
          ran.value = found?.kind === "known" ? ranOf(of.listing, found.of.blocks) : null;
        },
        () => {
          ran.value = null;
        },
      );
    }),
  ];
  const before = linesOf.peek();
  return () => {
    stops.forEach((stop) => stop());
    answers.drop();
    hottest.drop();
    // Elsewhere it would say that lines take the place of callers and callees.
    if (!isSameFunction(linesOf.peek(), before) && isSameFunction(linesOf.peek(), shown.peek()?.reference ?? null)) {
      amendStep(() => {
        linesOf.value = before;
      });
    }
  };
}

// What is chosen ------------------------------------------------------------------------------------------------------

export type Chosen =
  | { kind: "line"; file: number; line: number }
  | { kind: "instruction"; at: number }
  | { kind: "level"; level: number; at: number };

export const chosen = signal<Chosen | null>(null);

/** Levels of inlining that are folded. */
export const closed = signal<ReadonlySet<number>>(new Set());

/** The number of the file that the user wants to see. */
export const chosenFile = signal<number | null>(null);

export const fileNumber = computed(() => {
  const of = shown.value?.listing ?? null;
  return of === null ? null : (chosenFile.value ?? of.ownFile);
});

/** The file that is shown. */
export const file = computed(() => {
  const number = fileNumber.value;
  return number === null ? null : (shown.value?.listing.files[number] ?? null);
});

export const text = computed(() => (file.value === null ? null : (sourceTexts.value.get(keyOf(file.value)) ?? null)));

export const instructionRows = computed(() => (shown.value === null ? [] : codeRows(shown.value.listing, closed.value)));

export const lineRows = computed(() => {
  const [of, number] = [shown.value?.listing ?? null, fileNumber.value];
  return of === null || number === null ? [] : sourceRows(of, number, text.value?.kind === "here" ? text.value.lines : null);
});

/** Lines that do not follow the one above them. */
export const linesBehindGaps = computed(
  () => new Set(lineRows.value.flatMap(({ line }, at) => (isBehindGap(lineRows.value, at) ? [line] : []))),
);

/** How many letters of the usual width the longest line of the file has room for. */
export const textColumns = computed(() =>
  lineRows.value.reduce((most, { text: line }) => Math.max(most, columnsOf(shownText(line ?? ""))), 0),
);

/** Rows by their numbers: the chosen one, and those of the other pane that belong to it. */
export const marks = computed<{ code: ReadonlySet<number>; lines: ReadonlySet<number> }>(() => {
  const [of, at] = [shown.value?.listing ?? null, chosen.value];
  if (of === null || at === null) {
    return { code: new Set(), lines: new Set() };
  }
  const place = at.kind === "line" ? at : { file: of.file[at.at] ?? NONE, line: of.line[at.at] ?? 0 };
  const isLine = place.file === fileNumber.value ? place.line : 0;
  const line = lineRows.value.findIndex((row) => row.line === isLine);
  const isMarked = (row: CodeRow): boolean => {
    switch (at.kind) {
      case "line":
        return row.kind === "instruction" && of.line[row.at] === at.line && of.file[row.at] === at.file;
      case "instruction":
        return row.kind === "instruction" && row.at === at.at;
      case "level":
        return row.kind === "level" && row.level === at.level;
    }
  };
  return {
    code: new Set(instructionRows.value.flatMap((row, index) => (isMarked(row) ? [index] : []))),
    lines: new Set(line === -1 || at.kind === "level" ? [] : [line]),
  };
});

export function chooseLine(line: number): void {
  const number = fileNumber.peek();
  if (number !== null) {
    chosen.value = { kind: "line", file: number, line };
  }
}

export function chooseRow(row: CodeRow): void {
  const of = shown.peek()?.listing;
  const number = of?.file[row.at] ?? NONE;
  batch(() => {
    chosen.value = row.kind === "level" ? { kind: "level", level: row.level, at: row.at } : { kind: "instruction", at: row.at };
    if (row.kind === "instruction" && number !== NONE) {
      chosenFile.value = number;
    }
  });
}

/** Both panes begin where most samples ended. */
function chooseHottest(): void {
  const hot = hottestLine(shown.peek()?.listing.lines ?? []);
  chosenFile.value = hot?.file ?? null;
  chosen.value = hot === null ? null : { kind: "line", file: hot.file, line: hot.line };
}

/** Goes where a jump or a call within the function leads; folds a level, or unfolds it. */
export function enterRow(row: CodeRow): void {
  if (row.kind === "level") {
    const next = new Set(closed.peek());
    if (!next.delete(row.level)) {
      next.add(row.level);
    }
    closed.value = next;
    return;
  }
  const to = shown.peek()?.listing.goesTo[row.at] ?? NONE;
  if (to !== NONE) {
    batch(() => {
      closed.value = new Set();
      chooseRow({ kind: "instruction", at: to });
    });
  }
}

/** Chooses the next hot line of all files, or the one before; where no line is known, instructions. */
export function stepHot(way: "next" | "previous"): void {
  const of = shown.peek()?.listing;
  if (of === undefined) {
    return;
  }
  const at = chosen.peek();
  if (of.lines.length === 0) {
    const rows = Array.from(of.weight, (weight) => ({ weight }));
    const next = nextHot({ self: of.whole, lines: rows }, at?.kind === "instruction" ? at.at : null, way);
    if (next !== null) {
      chooseRow({ kind: "instruction", at: next });
    }
    return;
  }
  const place = at === null ? null : at.kind === "line" ? at : { file: of.file[at.at] ?? NONE, line: of.line[at.at] ?? 0 };
  const from = place === null || place.file === NONE ? null : placeAmong(of.lines, place);
  const next = nextHot({ self: of.whole, lines: of.lines }, from, way);
  const line = next === null ? undefined : of.lines[next];
  if (line !== undefined) {
    batch(() => {
      chosenFile.value = line.file;
      chosen.value = { kind: "line", file: line.file, line: line.line };
    });
  }
}

// Jumps ----------------------------------------------------------------------------------------------------------------

/** The instruction that a pointer is over. */
export const pointed = signal<number | null>(null);

/** The row of the chosen instruction; of a line that of the one in which most samples ended. */
export const leadingRow = computed(() => {
  const [of, rows] = [shown.value?.listing ?? null, instructionRows.value];
  const weightOf = (index: number): number => of?.weight[rows[index]?.at ?? 0] ?? 0;
  const [first = null, ...others] = marks.value.code;
  return first === null ? null : others.reduce((most, index) => (weightOf(index) > weightOf(most) ? index : most), first);
});

const chosenInstruction = computed(() => (leadingRow.value === null ? null : (instructionRows.value[leadingRow.value]?.at ?? 0)));

/** What is drawn beside the instructions: of the one that is pointed at, or else chosen, its jumps and the loop around it. */
export const drawnJumps = computed<{ lanes: readonly Lane[]; loop: Loop | null }>(() => {
  const [of, over, own] = [shown.value?.listing ?? null, pointed.value, chosenInstruction.value];
  if (of === null || (over ?? own) === null) {
    return { lanes: [], loop: null };
  }
  const lanes = over === null ? [] : lanesAt(of, over);
  return { lanes: lanes.length > 0 || own === null ? lanes : lanesAt(of, own), loop: loopAround(of, over ?? own ?? 0) };
});

/** The loop around the chosen instruction, with what ended in it. */
export const chosenLoop = computed(() => {
  const [of, at] = [shown.value?.listing ?? null, chosenInstruction.value];
  const loop = of === null || at === null ? null : loopAround(of, at);
  const weights = loop === null ? null : [...loop.body].map((each) => of?.weight[each] ?? 0);
  return weights === null ? null : { count: weights.length, weight: weights.reduce((sum, each) => sum + each, 0) };
});

/** What shares are of. */
export const whole = computed(() =>
  base.value === "function" ? (shown.value?.listing.whole.weight ?? 0) : (hottest.newest.value?.allTotal ?? 0),
);

/** A row's heat is of its function, whatever its share is of. */
export function shareOfFunction(weight: number): number {
  return share(weight, shown.value?.listing.whole.weight ?? 0);
}
