// Which rows of a long list are worth elements, and how far to scroll to one.

/** Rows kept above and below what is visible, so that a scroll shows no gap before the next frame. */
const SPARE = 8;

export interface ListSize {
  count: number;
  rowHeight: number;
  /** Height of the visible part that rows can use. */
  height: number;
}

/** First and one-past-last row to have in the document. */
export function rowWindow(scrollTop: number, { count, rowHeight, height }: ListSize): [number, number] {
  const from = Math.max(0, Math.floor(scrollTop / rowHeight) - SPARE);
  const to = Math.min(count, Math.ceil((scrollTop + height) / rowHeight) + SPARE);
  return [Math.min(from, count), Math.max(to, Math.min(from, count))];
}

/** The scroll position, nearest to the present one, that shows all of a row. */
export function scrollToRow(scrollTop: number, row: number, { rowHeight, height }: ListSize): number {
  const top = row * rowHeight;
  if (top < scrollTop) {
    return top;
  }
  return Math.max(scrollTop, top + rowHeight - height);
}

/** How many whole rows a page key moves. */
export function rowsPerPage({ rowHeight, height }: ListSize): number {
  return Math.max(1, Math.floor(height / rowHeight) - 1);
}

/** The row that a key moves to from `row`, or null if the key does not move. */
export function rowAfterKey(key: string, row: number, size: ListSize): number | null {
  const moves: Record<string, number> = {
    ArrowUp: row - 1,
    ArrowDown: row + 1,
    PageUp: row - rowsPerPage(size),
    PageDown: row + rowsPerPage(size),
    Home: 0,
    End: size.count - 1,
  };
  const to = Object.hasOwn(moves, key) ? moves[key] : undefined;
  return to === undefined || size.count === 0 ? null : Math.min(size.count - 1, Math.max(0, to));
}
