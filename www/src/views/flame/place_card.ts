// Where a card goes that belongs to a point.

const RIGHT = 12;
const BELOW = 16;
const MARGIN = 8;

interface Size {
  width: number;
  height: number;
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
