// The search field in this view: it finds lines and instructions of the function that is shown, and Enter goes through them.

import { batch, computed, effect, signal } from "@preact/signals";
import { ask } from "../../session/ask.ts";
import { search } from "../../state/app.ts";
import { within } from "../../state/search.ts";
import { findAmong, matcherOf, placeFrom } from "./find.ts";
import { rowText } from "./listing.ts";
import { chooseLine, chosen, closed, lineRows, panes, shown } from "./state.ts";

export const matcher = computed(() => matcherOf(search.value));

/** Positions of what was found: rows of the source, then instructions; null while it is looked for. */
const found = signal<readonly number[] | null>(null);
/** Steps that were asked for before anything was found. */
let awaited: (1 | -1)[] = [];

/** Where the chosen row stands among all that can be found; before the first where none is. */
const position = computed(() => {
  const [at, lines] = [chosen.value, lineRows.value];
  switch (at?.kind) {
    case "line":
      return lines.findIndex(({ line }) => line === at.line);
    case "instruction":
      return lines.length + at.at;
    case "level":
      // Above its first instruction.
      return lines.length + at.at - 0.5;
    default:
      return -1;
  }
});

/** Searches while the view is in sight; the answer ends it. */
export function followCodeSearch(): () => void {
  const stops = [
    effect(() => {
      const [matches, of, rows, which] = [matcher.value, shown.value?.listing, lineRows.value, panes.value];
      found.value = null;
      awaited = [];
      if (matches === null || of === undefined) {
        return;
      }
      return ask(
        async ({ signal: abort }) => {
          const lines = which === "assembly" ? [] : await findAmong(rows.length, (at) => rows[at]?.text ?? "", matches, abort);
          const code = which === "source" ? [] : await findAmong(of.count, (at) => rowText(of, at), matches, abort);
          return [...(lines ?? []), ...(code ?? []).map((at) => rows.length + at)];
        },
        (positions) => {
          found.value = positions;
          awaited.splice(0).forEach(step);
        },
      );
    }),
    effect(() => {
      const positions = found.value;
      const isSearched = matcher.value !== null && shown.value !== null;
      within.value = isSearched ? { count: positions?.length ?? null, at: positions?.indexOf(position.value) ?? -1, step } : null;
    }),
  ];
  return () => {
    stops.forEach((stop) => stop());
    within.value = null;
  };
}

function step(way: 1 | -1): void {
  const [positions, rows] = [found.peek(), lineRows.peek()];
  if (positions === null) {
    awaited.push(way);
    return;
  }
  const to = positions[placeFrom(positions, position.peek(), way)];
  const row = rows[to ?? -1];
  if (row !== undefined) {
    chooseLine(row.line);
  } else if (to !== undefined) {
    batch(() => {
      closed.value = new Set();
      chosen.value = { kind: "instruction", at: to - rows.length };
    });
  }
}
