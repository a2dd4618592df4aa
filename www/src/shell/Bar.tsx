// Bars whose width is data. Widths go through CSSOM, since the page's policy refuses style attributes.

import type { JSX } from "preact";

/** `share` of the bar is filled, in the colour of `tone`. */
export function Bar({ share, tone, label }: { share: number; tone: string; label?: string }): JSX.Element {
  const width = `${Math.min(1, Math.max(0, share)) * 100}%`;
  return (
    <span class={`bar tone-${tone}`} {...(label === undefined ? { "aria-hidden": true } : { role: "img", "aria-label": label })}>
      <span class="bar-fill" style={{ width }} />
    </span>
  );
}

/** Progress; without a share it runs without an end. */
export function ProgressBar({ share, label }: { share: number | null; label: string }): JSX.Element {
  if (share === null) {
    return (
      <span class="bar tone-accent endless" role="progressbar" aria-label={label}>
        <span class="bar-fill" />
      </span>
    );
  }
  return (
    <span
      class="bar tone-accent"
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(share * 100)}
    >
      <span class="bar-fill" style={{ width: `${share * 100}%` }} />
    </span>
  );
}
