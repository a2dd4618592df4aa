// The part of the recording that the timeline has in sight, and how time becomes pixels. Times are nanoseconds since
// the first time of the recording; a span is half-open.

export interface TimeSpan {
  start: number;
  end: number;
}

/** Deepest zoom: what a bin of the timeline then stands for is finer than any sampling. */
export const SHORTEST_NS = 10_000;

export const lengthOf = ({ start, end }: TimeSpan): number => end - start;

/** The nearest span of at least the shortest length that lies within the whole. */
export function clampWindow(window: TimeSpan, whole: TimeSpan): TimeSpan {
  const length = Math.min(lengthOf(whole), Math.max(SHORTEST_NS, lengthOf(window)));
  const start = Math.min(whole.end - length, Math.max(whole.start, window.start));
  return { start, end: start + length };
}

/** Magnifies by `factor`, keeping the time `about` where it is on screen. */
export function zoomWindow(window: TimeSpan, whole: TimeSpan, about: number, factor: number): TimeSpan {
  const length = Math.min(lengthOf(whole), Math.max(SHORTEST_NS, lengthOf(window) / factor));
  const start = about - (about - window.start) * (length / lengthOf(window));
  return clampWindow({ start, end: start + length }, whole);
}

/** Moves by a share of the window's own length; positive is later. */
export function panWindow(window: TimeSpan, whole: TimeSpan, share: number): TimeSpan {
  const by = share * lengthOf(window);
  return clampWindow({ start: window.start + by, end: window.end + by }, whole);
}

/** The smallest move that brings a time into sight. */
export function revealTime(window: TimeSpan, whole: TimeSpan, time: number): TimeSpan {
  if (time >= window.start && time <= window.end) {
    return window;
  }
  const start = time < window.start ? time : time - lengthOf(window);
  return clampWindow({ start, end: start + lengthOf(window) }, whole);
}

/** CSS pixels from the left edge of a plot that is `width` wide. */
export function xOf(time: number, window: TimeSpan, width: number): number {
  return ((time - window.start) / lengthOf(window)) * width;
}

export function timeAt(x: number, window: TimeSpan, width: number): number {
  return window.start + (x / width) * lengthOf(window);
}

/**
 * To what times are rounded that a pointer chooses: a round step of a pixel or more. So their words are short and exact,
 * and every such time can be pointed at.
 */
export function resolution(window: TimeSpan, width: number): number {
  return Math.max(1, roundStep(lengthOf(window) / Math.max(1, width)));
}

/** The smallest of 1, 2 or 5 times a power of ten that is at least `length`. */
export function roundStep(length: number): number {
  const power = 10 ** Math.floor(Math.log10(length));
  const factor = [1, 2, 5].find((each) => each * power >= length * (1 - 1e-9)) ?? 10;
  return factor * power;
}

/** The time that a pointer means; the ends of the whole are exact. */
export function pointedTime(x: number, window: TimeSpan, width: number, whole: TimeSpan): number {
  const step = resolution(window, width);
  const time = timeAt(x, window, width);
  if (time >= whole.end - step / 2) {
    return whole.end;
  }
  return Math.min(whole.end, Math.max(whole.start, Math.round(time / step) * step));
}

/** The span between two times in any order. */
export function spanOf(a: number, b: number): TimeSpan {
  return { start: Math.min(a, b), end: Math.max(a, b) };
}

/** A range with that edge moved to `time` which is nearer to it. */
export function extended(range: TimeSpan, time: number): TimeSpan {
  return Math.abs(time - range.start) < Math.abs(time - range.end) ? spanOf(time, range.end) : spanOf(range.start, time);
}

export const sameSpan = (a: TimeSpan | null, b: TimeSpan | null): boolean =>
  a === b || (a !== null && b !== null && a.start === b.start && a.end === b.end);
