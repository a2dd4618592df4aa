// While the graph is zoomed: all of it, 40 px high, with the part that is seen below marked.

import { useSignalEffect } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ask } from "../../session/ask.ts";
import type { FlameGraph } from "../../session/types.ts";
import { ALL } from "../../session/types.ts";
import { namesGeneration, session } from "../../state/app.ts";
import { themeGeneration } from "../../state/theme.ts";
import type { Colouring } from "./colouring.ts";
import { fillOf } from "./colouring.ts";
import { rowRange } from "./hit_test.ts";
import type { FlameModel } from "./model.ts";
import type { Palette } from "./palette.ts";
import { readPalette } from "./palette.ts";
import type { Flow } from "./scene.ts";
import { hairline, snap } from "./snap.ts";
import type { LaidOutGraph } from "./stage.ts";
import type { View } from "./zoom.ts";

const HEIGHT = 40;
/** Opacity of what is out of sight below. */
const OUT_OF_SIGHT = 0.35;

export function Minimap({ model }: { model: FlameModel }): JSX.Element | null {
  const laid = model.laid.value;
  const view = model.view.value;
  return laid !== null && (laid.root !== ALL || view.span < 1) ? <WholeGraph model={model} laid={laid} view={view} /> : null;
}

function WholeGraph({ model, laid, view }: { model: FlameModel; laid: LaidOutGraph; view: View }): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [all, setAll] = useState<FlameGraph | null>(null);
  useSignalEffect(() => {
    void namesGeneration.value;
    const widthPx = Math.round(model.width.value);
    const layout = widthPx > 0 ? model.host.map(widthPx) : null;
    const asked = session.value;
    if (asked === null || layout === null) {
      return;
    }
    return ask(
      ({ signal }) => layout.ask(asked, { signal }),
      ({ graph }) => setAll(graph),
    );
  });
  const theme = themeGeneration.value;
  const palette = useMemo(() => readPalette(devicePixelRatio), [theme]);
  const width = model.width.value;
  const colouring = all === null ? null : model.colouringOf(all);
  const flow = model.flow.value;
  useEffect(() => {
    const ctx = canvas.current?.getContext("2d");
    if (!ctx || all === null || colouring === null) {
      return;
    }
    const frame = requestAnimationFrame(() =>
      paint(ctx, all, { palette, colouring, flow }, width, model.host.seen(all, laid, view)),
    );
    return () => cancelAnimationFrame(frame);
  }, [all, laid, view, width, palette, colouring, flow]);
  return <canvas ref={canvas} class="minimap" aria-hidden="true" style={{ width: `${width}px` }} />;
}

interface MinimapAppearance {
  palette: Palette;
  colouring: Colouring;
  flow: Flow;
}

function paint(
  ctx: CanvasRenderingContext2D,
  all: FlameGraph,
  look: MinimapAppearance,
  width: number,
  [from, to]: [number, number],
): void {
  const ratio = devicePixelRatio;
  ctx.canvas.width = Math.round(width * ratio);
  ctx.canvas.height = Math.round(HEIGHT * ratio);
  const left = snap(from * width, ratio);
  const right = Math.max(left + 2 * hairline(ratio), snap(to * width, ratio));
  ctx.globalAlpha = OUT_OF_SIGHT;
  paintRows(ctx, all, look);
  ctx.globalAlpha = 1;
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, 0, right - left, ctx.canvas.height);
  ctx.clip();
  ctx.clearRect(left, 0, right - left, ctx.canvas.height);
  paintRows(ctx, all, look);
  ctx.restore();
  const line = hairline(ratio);
  ctx.strokeStyle = look.palette.accent;
  ctx.lineWidth = 2 * line;
  ctx.strokeRect(left + line, line, right - left - 2 * line, ctx.canvas.height - 2 * line);
}

/** Every row, squeezed into the height; no gaps. */
function paintRows(ctx: CanvasRenderingContext2D, all: FlameGraph, { palette, colouring, flow }: MinimapAppearance): void {
  const { width, height } = ctx.canvas;
  const scale = width / Math.max(1, (all.end[0] ?? 0) - (all.start[0] ?? 0));
  const rowHeight = Math.min(height / Math.max(1, all.depths), height / 4);
  for (let row = 0; row < all.depths; row++) {
    const place = flow === "down" ? row : all.depths - 1 - row;
    const top = Math.floor(place * rowHeight);
    const bottom = Math.max(top + 1, Math.floor((place + 1) * rowHeight));
    const [first, last] = rowRange(all, row);
    for (let box = first; box < last; box++) {
      ctx.fillStyle = palette.fills[fillOf(all, box, colouring)] ?? palette.panel;
      const start = Math.floor((all.start[box] as number) * scale + 0.5);
      const end = Math.floor((all.end[box] as number) * scale + 0.5);
      ctx.fillRect(start, top, Math.max(1, end - start), bottom - top);
    }
  }
}
