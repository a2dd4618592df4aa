// Where a card goes that belongs to a point.

import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

const RIGHT = 12;
const BELOW = 16;
const MARGIN = 8;

interface Size {
  width: number;
  height: number;
}

/** For the element of a card, which stays where it is without a point. `content` is what its size depends on. */
export function usePlacedCard(point: { x: number; y: number } | null, content?: unknown): RefObject<HTMLDivElement | null> {
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const card = element.current;
    if (card && point) {
      const size = { width: card.offsetWidth, height: card.offsetHeight };
      const { x, y } = placeCard(point, size, { width: innerWidth, height: innerHeight });
      card.style.left = `${x}px`;
      card.style.top = `${y}px`;
    }
  }, [point, content]);
  return element;
}

/** Right of and below the point; on the other side where it would leave the window, and never outside it. */
export function placeCard(point: { x: number; y: number }, card: Size, window: Size): { x: number; y: number } {
  return {
    x: along(point.x, RIGHT, card.width, window.width),
    y: along(point.y, BELOW, card.height, window.height),
  };
}

function along(point: number, gap: number, size: number, room: number): number {
  const after = point + gap;
  const before = point - gap - size;
  if (after + size + MARGIN <= room) {
    return after;
  }
  return before >= MARGIN ? before : Math.max(MARGIN, room - MARGIN - size);
}
