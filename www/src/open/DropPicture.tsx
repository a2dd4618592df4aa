// A small flame graph, with two frames that have no name yet.

import type { JSX } from "preact";

const WIDTH = 218;
const ROW = 28;

/** Row, left edge, width, class. */
const BOXES: readonly [number, number, number, string][] = [
  [0, 0, 218, "own"],
  [1, 0, 218, "own"],
  [2, 0, 134, "own"],
  [2, 141, 77, "unk"],
  [3, 0, 86, "sys"],
  [3, 93, 41, "own"],
  [3, 141, 46, "unk"],
  [4, 0, 50, "ker"],
  [4, 57, 29, "sys"],
  [4, 93, 28, "jit"],
  [5, 0, 30, "ker"],
];

export function DropPicture(): JSX.Element {
  return (
    <svg class="drop-picture" width={WIDTH} height={6 * ROW} viewBox={`0 0 ${WIDTH} ${6 * ROW}`} aria-hidden="true">
      <defs>
        <pattern id="picture-hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <path d="M0 0V6" class="hatch-line" />
        </pattern>
      </defs>
      {BOXES.map(([row, left, width, kind]) => (
        <g key={`${row}.${left}`}>
          <rect x={left} y={row * ROW} width={width} height={ROW - 2} class={`picture-${kind}`} />
          {kind === "unk" && <rect x={left} y={row * ROW} width={width} height={ROW - 2} fill="url(#picture-hatch)" />}
        </g>
      ))}
    </svg>
  );
}
