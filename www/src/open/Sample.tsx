// The sample profile: one click to see what a profile looks like, without a file of one's own.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { toast } from "../state/toasts.ts";
import { openSample } from "./open.ts";
import { hasSample, sampleFiles } from "./sample.ts";

export function Sample(): JSX.Element | null {
  const [isAwaited, setAwaited] = useState(false);
  if (!hasSample.value) {
    return null;
  }
  return (
    <section class="card" aria-label="Sample profile">
      <h2 class="card-head">Sample profile</h2>
      <div class="card-body">
        <Picture />
        <p class="sample-row">
          <span>Ten seconds of two processes, included in this page. One binary is left for you to add.</span>
          <button type="button" disabled={isAwaited} aria-busy={isAwaited} onClick={() => void open(setAwaited)}>
            {isAwaited ? "Loading…" : "Open"}
          </button>
        </p>
      </div>
    </section>
  );
}

/** The sample is the last part of the page that arrives. */
async function open(setAwaited: (isAwaited: boolean) => void): Promise<void> {
  setAwaited(true);
  const files = await sampleFiles().catch(() => null);
  setAwaited(false);
  if (files === null) {
    toast("error", "The sample did not arrive with this page. Reload it.");
  } else {
    await openSample(files);
  }
}

const WIDTH = 344;
const ROW = 6;

/** Row, left edge, width, class: what the flame graph of the sample looks like from afar. */
const BOXES: readonly [number, number, number, string][] = [
  [0, 0, 344, "proc"],
  [1, 0, 290, "proc"],
  [1, 291, 53, "proc"],
  [2, 0, 98, "sys"],
  [2, 99, 96, "sys"],
  [2, 196, 62, "own"],
  [2, 259, 31, "unk"],
  [2, 291, 53, "own"],
  [3, 0, 98, "own"],
  [3, 99, 96, "own"],
  [3, 196, 40, "own"],
  [3, 237, 21, "ker"],
  [3, 259, 31, "unk"],
  [3, 291, 53, "own"],
  [4, 0, 98, "own"],
  [4, 99, 96, "own"],
  [4, 196, 40, "own"],
  [4, 237, 21, "ker"],
  [4, 291, 36, "own"],
  [4, 328, 16, "own"],
  [5, 0, 60, "own"],
  [5, 61, 37, "own"],
  [5, 99, 58, "own"],
  [5, 158, 37, "own"],
  [5, 196, 24, "unk"],
  [5, 221, 15, "ker"],
  [5, 237, 16, "ker"],
  [5, 291, 30, "own"],
  [6, 0, 41, "own"],
  [6, 42, 18, "own"],
  [6, 61, 28, "own"],
  [6, 99, 40, "own"],
  [6, 140, 17, "own"],
  [6, 158, 27, "own"],
  [6, 196, 14, "unk"],
  [6, 221, 11, "ker"],
  [6, 237, 9, "ker"],
  [6, 291, 24, "own"],
  [7, 0, 30, "own"],
  [7, 61, 19, "own"],
  [7, 99, 28, "own"],
  [7, 158, 16, "own"],
  [7, 221, 7, "ker"],
];

function Picture(): JSX.Element {
  const height = 8 * ROW;
  return (
    <svg class="sample-picture" viewBox={`0 0 ${WIDTH} ${height}`} aria-hidden="true">
      {BOXES.map(([row, left, width, kind]) => (
        <rect key={`${row}.${left}`} x={left} y={row * ROW} width={width} height={ROW - 1} class={`picture-${kind}`} />
      ))}
    </svg>
  );
}
