// The page's drawings, 16 units wide, in the colour of the text around them. Status glyphs are told apart by shape, so
// that they need no colour.

import type { JSX } from "preact";

type Name =
  | "tick"
  | "diamond"
  | "ring"
  | "half"
  | "unequal"
  | "dash"
  | "triangle"
  | "warning"
  | "close"
  | "chevron"
  | "menu"
  | "search"
  | "link"
  | "lock"
  | "file"
  | "copy"
  | "back"
  | "more"
  | "sun"
  | "order";

const STROKE = {
  fill: "none",
  stroke: "currentColor",
  "stroke-width": 1.8,
  "stroke-linecap": "round",
  "stroke-linejoin": "round",
} as const;

const SHAPES: Record<Name, JSX.Element> = {
  tick: <path d="M2.5 8.5 6.3 12 13.5 4" {...STROKE} stroke-width={2.2} />,
  diamond: <path d="M8 2 14 8 8 14 2 8Z" fill="currentColor" />,
  ring: <circle cx="8" cy="8" r="5.6" {...STROKE} stroke-dasharray="2.5 1.9" stroke-linecap="butt" />,
  half: (
    <g>
      <circle cx="8" cy="8" r="5.6" {...STROKE} />
      <path d="M8 2.4a5.6 5.6 0 0 0 0 11.2Z" fill="currentColor" />
    </g>
  ),
  unequal: <path d="M2.5 5.8h11M2.5 10.2h11M11 2.2 5 13.8" {...STROKE} stroke-width={2} />,
  dash: <path d="M3 8h10" {...STROKE} stroke-width={2.2} />,
  triangle: <path d="M8 2 15 14H1Z" fill="currentColor" />,
  warning: (
    <g {...STROKE} stroke-width={1.5}>
      <path d="M8 2 14.8 13.8H1.2Z" />
      <path d="M8 6.4v3.4M8 11.7v.2" />
    </g>
  ),
  close: <path d="M3.5 3.5l9 9M12.5 3.5l-9 9" {...STROKE} />,
  chevron: <path d="M4 6.2 8 10.2 12 6.2" {...STROKE} stroke-width={1.5} />,
  menu: <path d="M2.5 4.2h11M2.5 8h11M2.5 11.8h11" {...STROKE} />,
  search: (
    <g {...STROKE} stroke-width={1.6}>
      <circle cx="6.8" cy="6.8" r="4.3" />
      <path d="M10 10l4 4" />
    </g>
  ),
  link: (
    <g {...STROKE} stroke-width={1.5}>
      <path d="M6.8 9.2a3 3 0 0 1 0-4.2l2.1-2.1a3 3 0 0 1 4.2 4.2l-1.3 1.3" />
      <path d="M9.2 6.8a3 3 0 0 1 0 4.2l-2.1 2.1a3 3 0 0 1-4.2-4.2l1.3-1.3" />
    </g>
  ),
  lock: (
    <g {...STROKE} stroke-width={1.5}>
      <rect x="3" y="7" width="10" height="7" rx="1" />
      <path d="M5 7V4.8a3 3 0 0 1 6 0V7" />
    </g>
  ),
  file: <path d="M4 1.8h5.2L12.6 5v9.2H4ZM9 2v3.2h3.4" {...STROKE} stroke-width={1.4} />,
  copy: <path d="M5.5 5.5h8v8h-8ZM10.5 5.5v-3h-8v8h3" {...STROKE} stroke-width={1.4} />,
  back: <path d="M6 3 2.5 6.5 6 10M3 6.5h7a3.5 3.5 0 0 1 0 7H7" {...STROKE} stroke-width={1.6} />,
  more: (
    <g fill="currentColor">
      <circle cx="3.5" cy="8" r="1.4" />
      <circle cx="8" cy="8" r="1.4" />
      <circle cx="12.5" cy="8" r="1.4" />
    </g>
  ),
  order: <path d="M2.5 4.2h11M2.5 8h7.5M2.5 11.8h4" {...STROKE} />,
  sun: (
    <g {...STROKE} stroke-width={1.4}>
      <circle cx="8" cy="8" r="2.8" />
      <path d="M8 1.5v1.6M8 12.9v1.6M1.5 8h1.6M12.9 8h1.6M3.4 3.4l1.1 1.1M11.5 11.5l1.1 1.1M3.4 12.6l1.1-1.1M11.5 4.5l1.1-1.1" />
    </g>
  ),
};

export type IconName = Name;

export function Icon({ name, size = 16 }: { name: Name; size?: number }): JSX.Element {
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 16 16" aria-hidden="true">
      {SHAPES[name]}
    </svg>
  );
}

/** A browser tab whose content is a flame graph. */
export function Logo(): JSX.Element {
  return (
    <svg class="logo" width="20" height="20" viewBox="0 0 20 20" aria-hidden="true">
      <path d="M1 5a2 2 0 0 1 2-2h5l2 2.5h7a2 2 0 0 1 2 2V15a2 2 0 0 1-2 2H3a2 2 0 0 1-2-2Z" fill="currentColor" />
      <path d="M4 8h9.5v1.7H4ZM4 10.7h6.5v1.7H4ZM4 13.4h3.5v1.6H4Z" class="logo-cut" />
    </svg>
  );
}
