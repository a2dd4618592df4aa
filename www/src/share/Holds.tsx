// What leaves the page while filters and transforms act: all of the profile, or what they leave of it.

import type { JSX } from "preact";
import { query } from "../state/app.ts";
import { count } from "../state/format.ts";
import { filterCount, filtersInWords, shown } from "../state/shown.ts";

/** A link and a page can be filtered by whoever opens them; text cannot. */
export function Holds({ what }: { what: "whole" | "shown" }): JSX.Element | null {
  if (filterCount.value === 0) {
    return null;
  }
  return <p class="holds">{what === "whole" ? whole() : left()}</p>;
}

function whole(): string {
  const isOne = filterCount.value === 1;
  return `Holds the whole profile: the ${filtersInWords.value} here ${isOne ? "is" : "are"} not part of it.`;
}

function left(): string {
  const said = shown.value;
  const what = `Holds what ${filtersInWords.value} ${filterCount.value === 1 ? "leaves" : "leave"}`;
  if (said?.query !== query.value) {
    return `${what}.`;
  }
  const { samples, allSamples } = said.answer;
  return `${what}: ${count(samples)} of ${count(allSamples)} samples.`;
}
