// The ranges that were zoomed into, by their lengths: "60.0 s › 10.25 s". Each leads back to itself.

import type { JSX } from "preact";
import { leaveTo, timeCrumbs, wholeTime, zoomedTime } from "./state.ts";
import type { TimeSpan } from "./time_window.ts";
import { lengthOf, sameSpan } from "./time_window.ts";
import { lengthWords, rangeWords } from "./words.ts";

/** More do not fit beside the whole; the innermost are the ones to go back to. */
const MOST_SHOWN = 2;

export function TimeCrumbs(): JSX.Element | null {
  const whole = wholeTime.value;
  if (whole === null) {
    return null;
  }
  const crumbs = timeCrumbs.value;
  const first = Math.max(0, crumbs.length - MOST_SHOWN);
  return (
    <nav class="time-crumbs" aria-label="Timeline zoom">
      <Crumb place={-1} span={whole} words={wholeWords(whole)} />
      {first > 0 && (
        <span class="crumb-separator" aria-hidden="true">
          {" "}
          › …
        </span>
      )}
      {crumbs.slice(first).map((span, index) => (
        <Crumb key={first + index} place={first + index} span={span} words={lengthWords(span)} />
      ))}
    </nav>
  );
}

function Crumb({ place, span, words }: { place: number; span: TimeSpan; words: string }): JSX.Element {
  const isShown = place === -1 ? zoomedTime.value === null : sameSpan(zoomedTime.value, span);
  return (
    <>
      {place >= 0 && (
        <span class="crumb-separator" aria-hidden="true">
          {" "}
          ›{" "}
        </span>
      )}
      {isShown ? (
        <span aria-current="true" title={rangeWords(span)}>
          {words}
        </span>
      ) : (
        <button type="button" class="link" title={rangeWords(span)} onClick={() => leaveTo(place)}>
          {words}
        </button>
      )}
    </>
  );
}

function wholeWords(whole: TimeSpan): string {
  const seconds = lengthOf(whole) / 1e9;
  return seconds >= 10 ? `${seconds.toFixed(1)} s` : lengthWords(whole);
}
