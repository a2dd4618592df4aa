// A scrolling list that has elements only for the rows in sight. The header is part of the scroller and sticks to its
// top, so that columns stay in line whatever the scroll bar's width.

import type { ComponentChildren, JSX, RefObject } from "preact";
import { useCallback, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ListSize } from "./window.ts";
import { rowExtra } from "../../state/layout.ts";
import { textScale } from "../text_scale.ts";
import { rowWindow, scrollToRow } from "./window.ts";

export interface VirtualRows {
  scroller: RefObject<HTMLDivElement | null>;
  size: ListSize;
  from: number;
  to: number;
  /** Index after the last row that is wholly visible. */
  visibleTo: number;
  onScroll: () => void;
  reveal: (row: number) => void;
}

const TOUCH_ROWS = "(pointer: coarse), (max-width: 719px)";
const TOUCH_ROW = 44;

/** `rowHeight` is of compact rows for a mouse, in 1/16 rem; rows for fingers are 44. */
export function useVirtualRows(count: number, rowHeight: number): VirtualRows {
  const scroller = useRef<HTMLDivElement>(null);
  const [scrollTop, setScrollTop] = useState(0);
  const [height, setHeight] = useState(0);
  const [scale, setScale] = useState(textScale);
  const [touch, setTouch] = useState(() => matchMedia(TOUCH_ROWS).matches);
  useLayoutEffect(() => {
    const el = scroller.current;
    if (!el) {
      return;
    }
    const media = matchMedia(TOUCH_ROWS);
    const onMedia = (): void => setTouch(media.matches);
    const resizes = new ResizeObserver(() => {
      setHeight(usableHeight(el));
      setScale(textScale());
    });
    resizes.observe(el);
    // The header's height tells of a change of the text's size.
    if (el.firstElementChild) {
      resizes.observe(el.firstElementChild);
    }
    media.addEventListener("change", onMedia);
    return () => {
      resizes.disconnect();
      media.removeEventListener("change", onMedia);
    };
  }, []);
  const size = { count, rowHeight: (touch ? TOUCH_ROW : rowHeight + rowExtra.value) * scale, height };
  const latest = useRef(size);
  latest.current = size;
  const [from, to] = rowWindow(scrollTop, size);
  const onScroll = useCallback(() => setScrollTop(scroller.current?.scrollTop ?? 0), []);
  const reveal = useCallback((row: number) => {
    const el = scroller.current;
    if (el) {
      el.scrollTop = scrollToRow(el.scrollTop, row, { ...latest.current, height: usableHeight(el) });
    }
  }, []);
  const visibleTo = Math.min(count, Math.floor((scrollTop + height) / size.rowHeight));
  return { scroller, size, from, to, visibleTo, onScroll, reveal };
}

function usableHeight(scroller: HTMLElement): number {
  const header = scroller.firstElementChild;
  return scroller.clientHeight - (header instanceof HTMLElement ? header.offsetHeight : 0);
}

/** The body of the list: as high as all rows, holding those in sight. The style sheet takes a row's height from here. */
export function RowsBody({ rows, children }: { rows: VirtualRows; children: ComponentChildren }): JSX.Element {
  const { size, from } = rows;
  return (
    <div
      class="rows-body"
      role="rowgroup"
      style={{ height: `${size.count * size.rowHeight}px`, "--row-height": `${size.rowHeight}px` }}
    >
      <div class="rows-shift" role="presentation" style={{ transform: `translateY(${from * size.rowHeight}px)` }}>
        {children}
      </div>
    </div>
  );
}

/** A bar for a share of 0 to 1. Shares are in the cell beside it, so it is silent. */
export function ShareBar({ share }: { share: number }): JSX.Element {
  return (
    <span class="share-bar" aria-hidden="true">
      <span style={{ width: `${Math.min(1, Math.max(0, share)) * 100}%` }} />
    </span>
  );
}
