// Moments on the ruler: what was lost, and where programs began.

import { effect, signal } from "@preact/signals";
import { ask } from "../session/ask.ts";
import type { Marks } from "../session/types.ts";
import { phase, session } from "../state/app.ts";
import { count } from "../state/format.ts";
import { wholeTime } from "./state.ts";

export const MARK = { lost: 0, exec: 1, fork: 2 } as const;

/** Of the whole recording; null while they are asked for. */
export const marks = signal<Marks | null>(null);

/** Asks once for each profile. Call once. */
export function followMarks(): void {
  effect(() => {
    const [asked, whole] = [session.value, wholeTime.value];
    marks.value = null;
    if (asked === null || whole === null || phase.value.kind !== "open") {
      return;
    }
    return ask(
      ({ signal }) => asked.call("marks", { start: whole.start, end: whole.end }, { signal }),
      (answer) => {
        marks.value = answer;
      },
    );
  });
}

/** The nearest mark before or after a time; null where there is none. */
export function markFrom(time: number, to: "earlier" | "later"): number | null {
  const times = marks.peek()?.time ?? [];
  let best: number | null = null;
  for (const each of times) {
    const isThere = to === "later" ? each > time : each < time;
    if (isThere && (best === null || Math.abs(each - time) < Math.abs(best - time))) {
      best = each;
    }
  }
  return best;
}

/** The marks at a time, in words; null where there is none. */
export function wordsOfMarksAt(time: number): string | null {
  const all = marks.value;
  if (all === null) {
    return null;
  }
  const words: string[] = [];
  for (let mark = all.time.indexOf(time); mark !== -1; mark = all.time.indexOf(time, mark + 1)) {
    words.push(wordsOfMark(all, mark));
  }
  return words.length === 0 ? null : words.join(", ");
}

/** "804 events lost", "exec of nginx", "12 forks" where several came together. */
export function wordsOfMark(marks: Marks, mark: number): string {
  const number = marks.count[mark] ?? 1;
  const name = marks.text[mark] ?? "";
  if (marks.kind[mark] === MARK.lost) {
    return `${count(number)} ${number === 1 ? "event" : "events"} lost`;
  }
  const what = marks.kind[mark] === MARK.exec ? "exec" : "fork";
  if (number > 1) {
    return `${count(number)} ${what}s`;
  }
  return name === "" ? what : `${what} of ${name}`;
}
