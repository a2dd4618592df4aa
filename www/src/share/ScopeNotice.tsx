// What leaves the page while filters and transforms act: all of the profile, or what they leave of it.

import type { JSX } from "preact";
import { opened, query } from "../state/app.ts";
import { count, countSamples } from "../state/format.ts";
import { comparing } from "../compare/state.ts";
import { filterCount, filtersInWords, shown } from "../state/shown.ts";
import { scope } from "./links.ts";

/** Of a link or a page, which can be filtered again by whoever opens it. */
export function ScopeNotice(): JSX.Element | null {
  return (
    <>
      {comparing.value?.with === "second" && (
        <p class="holds">Contains only {opened.value?.name ?? "the first profile"}, not the profile it is compared with.</p>
      )}
      {filterCount.value > 0 && <p class="holds">{scope.value === "whole" ? whole() : shownOnly()}</p>}
      {filterCount.value === 0 && scope.value === "shown" && (
        <p class="holds">No filters are active, so this is the whole profile.</p>
      )}
    </>
  );
}

/** Of text, which cannot. */
export function TextScopeNotice(): JSX.Element | null {
  return filterCount.value === 0 ? null : <p class="holds">{left()}</p>;
}

function whole(): string {
  const here =
    filterCount.value === 1
      ? "Your filter is included; readers can remove it."
      : `Your ${filtersInWords.value} are included; readers can remove them.`;
  return `Contains the whole profile. ${here}`;
}

function shownOnly(): string {
  return `${left()} The rest cannot be recovered from it.`;
}

function left(): string {
  const said = shown.value;
  const what = `Contains only what is left after ${filtersInWords.value}`;
  if (said?.query !== query.value) {
    return `${what}.`;
  }
  const { samples, allSamples } = said.answer;
  return `${what}: ${count(samples)} of ${countSamples(allSamples)}.`;
}
