// Moments on the ruler: what was lost, and where programs began.

import type { Marks } from "../session/types.ts";
import { count } from "../state/format.ts";

export const MARK = { lost: 0, exec: 1, fork: 2 } as const;

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
