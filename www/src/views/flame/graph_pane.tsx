// The canvases of a graph, the tree that stands for them, and the card beside the pointer.

import type { ComponentChildren, JSX, RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { focusByPointer } from "../../timeline/pointed.ts";
import type { Bases } from "./hover_card.tsx";
import { HoverCardView } from "./hover_card.tsx";
import { Mirror } from "./mirror.tsx";
import type { MirrorItem } from "./mirror_items.ts";
import type { FlameModel } from "./model.ts";

interface Props {
  model: FlameModel;
  /** The wheel is listened to on all of it: what is around the canvases may slide under the pointer. */
  area: RefObject<HTMLElement | null>;
  /** What the graph is called. */
  label: string;
  items: readonly MirrorItem[];
  bases: Bases;
  /** What follows the tree in the order of Tab. */
  children?: ComponentChildren;
}

export function GraphPane({ model, area, label, items, bases, children }: Props): JSX.Element {
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const frames = useRef<HTMLCanvasElement>(null);
  const overlay = useRef<HTMLCanvasElement>(null);
  const tree = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!area.current || !scroller.current || !content.current || !frames.current || !overlay.current) {
      return;
    }
    const elements = {
      scroller: scroller.current,
      content: content.current,
      frames: frames.current,
      overlay: overlay.current,
    };
    return model.start(area.current, elements, () => focusByPointer(tree.current));
  }, [model]);
  useEffect(() => {
    const pin = (event: KeyboardEvent): void => {
      if (event.key === "Alt" && model.card.content.peek()) {
        event.preventDefault();
        model.card.pin();
      } else if (event.key === "Escape" && model.card.content.peek()?.pinned) {
        event.stopPropagation();
        model.card.close();
      }
    };
    addEventListener("keydown", pin, { capture: true });
    return () => removeEventListener("keydown", pin, { capture: true });
  }, [model]);
  return (
    <>
      <div class="flame-viewport">
        <Mirror model={model} tree={tree} label={label} items={items} />
        {children}
        <div class="flame-scroller" ref={scroller}>
          <div class="flame-content" ref={content}>
            <div class="flame-sticky">
              <canvas ref={frames} aria-hidden="true" />
              <canvas ref={overlay} aria-hidden="true" />
            </div>
          </div>
        </div>
      </div>
      <HoverCardView card={model.card} bases={bases} />
    </>
  );
}
