// What the colours of a graph mean.

import type { JSX } from "preact";
import { forcedRows } from "../../state/app.ts";
import { largestDsos, shownColours } from "../options.ts";

const KINDS = [
  ["own", "own code"],
  ["system", "system library"],
  ["kernel", "kernel"],
  ["jit", "JIT"],
  ["unnamed", "unnamed"],
] as const;

/** Where each step of heat begins, as a share of what is shown. */
const HEAT = ["0", "0.6", "2", "5", "9"] as const;

export function Legend(): JSX.Element {
  const forced = forcedRows.value.length > 0;
  return (
    <ul class="frame-legend" aria-label="Colours">
      <Entries />
      {forced && <Entry look="forced" words="forced" />}
    </ul>
  );
}

function Entries(): JSX.Element {
  switch (shownColours.value) {
    case "kind":
      return (
        <>
          {KINDS.map(([kind, words]) => (
            <Entry key={kind} look={kind} words={words} />
          ))}
        </>
      );
    case "dso":
      return (
        <>
          {largestDsos.value.map((row, place) => (
            <Entry key={row.id} look={`k${place + 1}`} words={row.name} />
          ))}
          <Entry look="pseudo" words="other" />
        </>
      );
    case "heat":
      return (
        <>
          <li>self, % of what is shown</li>
          {HEAT.map((from, step) => (
            <Entry key={from} look={`h${step + 1}`} words={`${step === 0 ? "over " : "from "}${from}\u202f%`} />
          ))}
        </>
      );
  }
}

function Entry({ look, words }: { look: string; words: string }): JSX.Element {
  return (
    <li>
      <span class={`swatch swatch-${look}`} />
      <span>{words}</span>
    </li>
  );
}
