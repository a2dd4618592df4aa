// Colours for canvases: a token's value as the page's own style resolves it now.
//
// A custom property reads back as the text written in tokens.css, `light-dark(…)` and all, so each value is resolved
// through an element's `color`. Read once per theme (state/theme.ts counts the changes), never per frame.

/** The names of tokens.css, without the leading dashes. */
export type Token =
  | "bg"
  | "panel"
  | "panel-2"
  | "raised"
  | "sunken"
  | "sel"
  | "hover"
  | "line"
  | "line-2"
  | "ctl-line"
  | "ink"
  | "ink-2"
  | "ink-3"
  | "accent"
  | "accent-ink"
  | "accent-soft"
  | "focus"
  | "ok"
  | "ok-soft"
  | "warn"
  | "warn-soft"
  | "bad"
  | "bad-soft"
  | "guru"
  | "guru-soft"
  | "frame-ink"
  | "g-own"
  | "g-sys"
  | "g-ker"
  | "g-jit"
  | "g-unk"
  | "hatch"
  | "g-proc"
  | "search"
  | "k1"
  | "k2"
  | "k3"
  | "k4"
  | "k5"
  | "k6"
  | "h0"
  | "h1"
  | "h2"
  | "h3"
  | "h4"
  | "h5"
  | "d-less-3"
  | "d-less-2"
  | "d-less-1"
  | "d-same"
  | "d-more-1"
  | "d-more-2"
  | "d-more-3"
  | "wash";

/** The values of `names` under the present theme, as `rgb(…)` texts. */
export function readTokens<Name extends Token>(names: readonly Name[]): Record<Name, string> {
  const probe = document.createElement("span");
  probe.hidden = true;
  document.body.append(probe);
  const values = {} as Record<Name, string>;
  for (const name of names) {
    probe.style.color = `var(--${name})`;
    values[name] = getComputedStyle(probe).color;
  }
  probe.remove();
  return values;
}
