// On which threads the selection ran, and when: asked of the session while the panel is on the screen, since it goes
// through all samples.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { Occurrence, Runners, Subject } from "../session/types.ts";
import { useAnswer } from "../session/use_answer.ts";
import { info, namesGeneration, query, session } from "../state/app.ts";
import { count } from "../state/format.ts";
import { rangeWords } from "../timeline/words.ts";
import { Fact } from "./Fact.tsx";

/** Bars of two pixels in a dock of the usual width. */
const BINS = 160;

/** What is known of the subject; the former answer stands until the next one is there. */
export function useOccurrence(subject: Subject | null): Occurrence | null {
  const about = useMemo(() => subject, [subject?.kind, subject?.id]);
  return useAnswer(about, (of) => {
    const [asked, within] = [session.value, query.value];
    void namesGeneration.value;
    return asked === null || of === null
      ? null
      : ({ signal }) => asked.call("occurrence", { query: within, request: { subject: of, bins: BINS } }, { signal });
  }).answer;
}

/** "6 of edge-auth (pid 3377)" */
export function threadWords({ processes, more }: Runners): string {
  const [first] = processes;
  if (first === undefined) {
    return "none";
  }
  const others = processes.length - 1 + more;
  const rest = others === 0 ? "" : ` and ${count(others)} more ${others === 1 ? "process" : "processes"}`;
  return `${count(first.threads)} of ${first.name} (pid ${first.pid})${rest}`;
}

/** What a link keeps of threads is their names, so it has no numbers to show. */
export function Threads({ of }: { of: Occurrence | null }): JSX.Element | null {
  const isLink = info.value !== null && info.value.fidelity !== null;
  return isLink ? null : <Fact label="Threads">{of === null ? "" : threadWords(of.runners)}</Fact>;
}

/** Its weight by time. Nothing where samples have no times. */
export function When({ occurrence }: { occurrence: Occurrence | null }): JSX.Element | null {
  if (occurrence === null || occurrence.bins.length === 0) {
    return null;
  }
  const { start, end, bins } = occurrence;
  const most = bins.reduce((most, weight) => Math.max(most, weight), 0);
  const at = (bin: number): number => start + ((end - start) * bin) / bins.length;
  const peak = bins.indexOf(most);
  const words = most === 0 ? "never" : `most from ${rangeWords({ start: at(peak), end: at(peak + 1) })}`;
  return (
    <>
      <h3>When</h3>
      <svg
        class="when"
        role="img"
        aria-label={`From ${rangeWords({ start, end })}: ${words}`}
        viewBox={`0 0 ${bins.length} 1`}
        preserveAspectRatio="none"
      >
        <path d={bars(bins, most)} />
      </svg>
      <p class="when-scale">
        <span>{rangeWords({ start, end }).split(" to ")[0]}</span>
        <span>{rangeWords({ start, end }).split(" to ")[1]}</span>
      </p>
    </>
  );
}

/** The outline of a bar for each bin, from the bottom up; 1 is the highest. */
function bars(bins: readonly number[], most: number): string {
  const bar = (weight: number, bin: number): string => (weight > 0 ? `M${bin} 1V${(1 - weight / most).toFixed(3)}h1V1z` : "");
  return bins.map(bar).join("");
}
