// What is rendered in parts, one a frame, so that no task renders all of it: hundreds of rows, or a whole page.

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";

/** A frame's worth of rows: about 5 ms of script, style and layout on a busy server core. */
const ROWS = 12;

/** How many of `count` parts to render now: `each` at once, and as many more with every frame. */
export function useGradual(count: number, each: number = ROWS): number {
  const [shown, setShown] = useState(each);
  const isMore = shown < count;
  useEffect(() => {
    if (isMore) {
      const frame = requestAnimationFrame(() => setShown(shown + each));
      return () => cancelAnimationFrame(frame);
    }
    return undefined;
  }, [shown, isMore]);
  return Math.min(shown, count);
}

/** Renders its children so many frames after what stands around them. */
export function Later({ frames, children }: { frames: number; children: ComponentChildren }): JSX.Element {
  return <>{useGradual(frames + 1, 1) > frames && children}</>;
}
