// When the time went: a ruler, all CPUs, and a track for each process, thread or CPU.

import type { JSX } from "preact";

interface TimelineProps {
  /** Tracks, or a strip of 28 px with all CPUs alone. */
  shown: "tracks" | "strip";
  /** Asked by the strip's disclosure button. */
  onShow: (shown: "tracks" | "strip") => void;
}

export function Timeline({ shown }: TimelineProps): JSX.Element | null {
  void shown;
  return null;
}
