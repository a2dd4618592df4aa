// What the heat map shows and does: asks the worker for cells, for what the range is, and for what one cell is; turns
// keys and pointer into the one range that all views share.

import { computed, effect, signal, untracked } from "@preact/signals";
import { ask } from "../session/ask.ts";
import type { Session } from "../session/client.ts";
import type { HeatCell, HeatMap, HeatRequest, Query } from "../session/types.ts";
import { draggedRange, hovered, namesGeneration, phase, query, session } from "../state/app.ts";
import { recall, remember } from "../state/storage.ts";
import { runTask } from "../state/tasks.ts";
import { themeGeneration } from "../state/theme.ts";
import { followGestures } from "../timeline/gestures.ts";
import type { GestureHandlers } from "../timeline/gestures.ts";
import type { TimeAction } from "../timeline/keys.ts";
import { prepareDrag } from "../timeline/prepare.ts";
import { KeyedRange } from "../timeline/range_keys.ts";
import { markFrom, wordsOfMarksAt } from "../timeline/marks.ts";
import { changeTime, rangeShown, timeCursor, timeInSight, timeQuery, wholeTime } from "../timeline/state.ts";
import type { TimeSpan } from "../timeline/time_window.ts";
import { extended } from "../timeline/time_window.ts";
import { latest } from "../views/latest.ts";
import { endDrag, previewRange, setRange } from "../views/query_steps.ts";
import type { Grid, Rows, SpanSum } from "./grid.ts";
import { cellAt, cellAtTime, gridFor, spanOfCell, spanOfCells, spanOfGrid, sumOfCells } from "./grid.ts";
import type { HeatElements } from "./stage.ts";
import { HeatStage } from "./stage.ts";
import { cellTime } from "./words.ts";

const PAUSE_MS = 80;
/** Of the map that is asked for its sum alone: the coarsest. */
const ROWS_OF_SUMS = 20;

const ROWS = ["20", "50", "100"] as const;
export const rows = signal<Rows>(Number(recall("heatMapRows", ROWS, "50")) as Rows);
effect(() => remember("heatMapRows", String(rows.value)));

interface Question {
  session: Session;
  query: Query;
}

/** Sums of a stretch of time. */
interface SpanQuestion extends Question {
  span: TimeSpan;
}

/** A cell that the pointer rests on. */
export interface CardContent {
  x: number;
  y: number;
  span: TimeSpan;
  cell: HeatCell;
}

export class HeatModel {
  readonly width = signal(0);
  readonly grid = computed<Grid>(() => gridFor(timeInSight.value, rows.value, this.width.value));
  readonly answer = signal<{ map: HeatMap; grid: Grid } | null>(null);
  /** What the range, and what all of it, comes to. */
  readonly chosen = signal<SpanSum | null>(null);
  readonly all = signal<SpanSum | null>(null);
  readonly card = signal<CardContent | null>(null);
  readonly failure = signal<string | null>(null);
  /** Number of the cell that keys are on. */
  readonly cursor = computed(() =>
    cellAtTime(timeCursor.value ?? rangeShown.value?.start ?? timeInSight.value.start, this.grid.value),
  );
  readonly #isOnKeys = signal(false);
  #stage: HeatStage | null = null;
  #over: number | null = null;
  /** The cell at which a range that keys make begins. */
  #anchor: number | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;

  readonly #keyed = new KeyedRange(
    (range) => previewRange({ ...range, side: "inside" }),
    (range) => setRange({ ...range, side: "inside" }),
  );
  readonly #maps = latest<Question & { request: HeatRequest; grid: Grid }, HeatMap>({
    ask: ({ session: asked, query: of, request }, abort) =>
      runTask("Laying out the heat map", (options) => asked.call("heatMap", { query: of, request }, options), abort),
    deliver: (map, { grid }) => {
      this.failure.value = null;
      this.answer.value = { map, grid };
    },
    fail: (error) => {
      this.failure.value = error instanceof Error ? error.message : String(error);
    },
  });
  readonly #wholeMaps = latest<Question & { grid: Grid }, HeatMap>({
    ask: ({ session: asked, query: of, grid }, { signal }) =>
      asked.call("heatMap", { query: of, request: requestFor(grid) }, { signal }),
    deliver: (map, { grid }) => {
      this.all.value = sumOfCells(map, grid, this.#whole, this.#whole.end);
    },
  });
  readonly #ofCell = latest<SpanQuestion & { x: number; y: number }, HeatCell>({
    ask: ({ session: asked, query: of, span }, { signal }) => asked.call("heatCell", { query: of, ...span }, { signal }),
    deliver: (cell, { span, x, y }) => {
      this.card.value = { x, y, span, cell };
    },
  });

  /** Begins to work; the answer ends it. `focus` is called when the pointer is pressed. */
  start(area: HTMLElement, elements: HeatElements, focus: () => void): () => void {
    const stage = new HeatStage(elements);
    this.#stage = stage;
    const locate = (at: MouseEvent): { x: number; y: number } | null =>
      stage.isOver(at.clientX, at.clientY) ? stage.at(at.clientX, at.clientY) : null;
    const stops = [
      followGestures(area, locate, "both", this.#gestures(stage, focus)),
      effect(() => {
        this.width.value = stage.width.value;
      }),
      effect(() => this.#ask()),
      effect(() => {
        void timeQuery.value;
        this.all.value = null;
      }),
      effect(() => this.#sumAll()),
      effect(() => this.#sumRange()),
      effect(() => {
        const answer = this.answer.value;
        // Cells of other times than those in sight are not shown as if they were these.
        stage.show(this.grid.value, answer !== null && isSameTime(answer.grid, this.grid.value) ? answer.map : null);
      }),
      effect(() => stage.mark({ range: rangeShown.value })),
      effect(() => stage.mark({ cursor: this.#isOnKeys.value ? this.cursor.value : null })),
      effect(() => {
        void themeGeneration.value;
        stage.themeChanged();
      }),
      () => this.#maps.drop(),
      () => this.#leave(),
      () => stage.dispose(),
    ];
    return () => {
      for (const stop of stops) {
        stop();
      }
      this.#stage = null;
    };
  }

  /** Whether the keys are here: the cursor is then seen. */
  focused(isOnKeys: boolean): void {
    this.#isOnKeys.value = isOnKeys;
    if (!isOnKeys) {
      this.settle();
    }
  }

  #question(): Question | null {
    void namesGeneration.value;
    const asked = session.value;
    const isOpen = phase.value.kind === "open" && wholeTime.value !== null;
    return asked === null || !isOpen ? null : { session: asked, query: timeQuery.value };
  }

  #ask(): void {
    const question = this.#question();
    const grid = this.grid.value;
    if (question !== null && this.width.value > 0) {
      untracked(() => this.#maps.ask({ ...question, grid, request: requestFor(grid) }));
    }
  }

  /** Of the map, where that is of all the time. */
  #sumAll(): void {
    const question = this.#question();
    const [answer, grid] = [this.answer.value, this.grid.value];
    const whole = this.#whole;
    const isOfAll = (of: Grid): boolean => of.first === 0 && spanOfGrid(of).end >= whole.end;
    if (answer !== null && isOfAll(answer.grid)) {
      this.all.value = sumOfCells(answer.map, answer.grid, whole, whole.end);
    } else if (question !== null && !isOfAll(grid) && this.all.peek() === null) {
      this.#wholeMaps.ask({ ...question, grid: gridFor(whole, ROWS_OF_SUMS, 0) });
    }
  }

  /** While it is dragged, of the map, which is there; then by the session, which knows the time before and after a cell. */
  #sumRange(): (() => void) | undefined {
    const question = this.#question();
    const range = rangeShown.value;
    const answer = this.answer.value;
    if (question === null || range === null || draggedRange.value !== null) {
      this.chosen.value = range && question && answer && sumOfCells(answer.map, answer.grid, range, this.#whole.end);
      return undefined;
    }
    const { start, end } = range;
    return ask(
      ({ signal }) => question.session.call("heatCell", { query: question.query, start, end }, { signal }),
      (cell) => {
        this.chosen.value = cell;
      },
    );
  }

  // Pointer ------------------------------------------------------------------------------------------------------------

  #gestures(stage: HeatStage, focus: () => void): GestureHandlers {
    const cell = (x: number, y: number): number => cellAt(x, y, this.grid.peek());
    let from = 0;
    return {
      edgeNear: () => null,
      press: (x, y) => {
        prepareDrag();
        from = cell(x, y);
        timeCursor.value = spanOfCell(from, this.grid.peek()).start;
        this.#isOnKeys.value = false;
        focus();
      },
      drag: (_, to, how, y) => {
        const now = cell(to, y);
        const range = query.peek().range;
        const span = spanOfCell(now, this.grid.peek());
        this.#drag(
          how === "extend" && range !== null
            ? extended(range, Math.abs(span.end - range.end) < Math.abs(span.start - range.start) ? span.end : span.start)
            : spanOfCells(from, now, this.grid.peek()),
        );
        timeCursor.value = span.start;
      },
      drop: endDrag,
      hover: (x, y, clientX, clientY) => {
        prepareDrag();
        this.#hover(cell(x, y), clientX, clientY);
      },
      leave: () => this.#leave(),
      doubleClick: (x, y) => {
        const one = cell(x, y);
        setRange({ ...this.#within(spanOfCell(one, this.grid.peek())), side: "inside" });
      },
      zoom: (factor, x) => {
        const { first, cell: width, period } = this.grid.peek();
        changeTime({ kind: "zoom", factor }, (first + x / width) * period);
      },
      pan: (pixels) => changeTime({ kind: "pan", share: pixels / Math.max(1, stage.width.peek()) }),
    };
  }

  #drag(span: TimeSpan): void {
    const within = this.#within(span);
    if (within.start < within.end) {
      previewRange({ ...within, side: "inside" });
    }
  }

  /** The last cell reaches beyond the end of the recording; a range does not. */
  #within(span: TimeSpan): TimeSpan {
    const { start, end } = this.#whole;
    return { start: Math.max(start, span.start), end: Math.min(end, span.end) };
  }

  #hover(cell: number, x: number, y: number): void {
    if (cell === this.#over) {
      const card = this.card.peek();
      if (card !== null) {
        this.card.value = { ...card, x, y };
      }
      return;
    }
    this.#leave();
    this.#over = cell;
    this.#stage?.mark({ hovered: cell });
    this.#timer = setTimeout(() => {
      const asked = session.peek();
      if (asked !== null) {
        const span = spanOfCell(cell, this.grid.peek());
        this.#ofCell.ask({ session: asked, query: timeQuery.peek(), span, x, y });
      }
    }, PAUSE_MS);
  }

  #leave(): void {
    clearTimeout(this.#timer);
    this.#over = null;
    this.#ofCell.drop();
    this.card.value = null;
    this.#stage?.mark({ hovered: null });
  }

  // Keys ---------------------------------------------------------------------------------------------------------------

  act(action: TimeAction): void {
    this.#isOnKeys.value = true;
    this.#leave();
    switch (action.kind) {
      case "mark":
        return this.#toMark(action.to);
      case "cursor":
        return this.#moveCursor(action);
      default:
        return changeTime(action, timeCursor.peek() ?? timeInSight.peek().start);
    }
  }

  #toMark(to: "earlier" | "later"): void {
    const time = markFrom(timeCursor.peek() ?? (to === "later" ? -1 : this.#whole.end), to);
    if (time !== null) {
      timeCursor.value = time;
      this.#stage?.reveal(this.cursor.peek());
      hovered.value = `${cellTime(time, this.grid.peek())}: ${wordsOfMarksAt(time) ?? ""}`;
    }
  }

  /** A key that made a range was let go. */
  settle(): void {
    this.#anchor = null;
    this.#keyed.settle();
  }

  #moveCursor({ along, steps, range }: Extract<TimeAction, { kind: "cursor" }>): void {
    const grid = this.grid.peek();
    const from = this.cursor.peek();
    const [first, last] = [grid.first * grid.rows, cellAtTime(this.#whole.end - 1, grid)];
    const by = along === "rows" ? steps : Number.isFinite(steps) ? steps * grid.rows : steps;
    const to = Math.min(last, Math.max(Math.max(0, first), from + by));
    if (range === "extended") {
      this.#anchor ??= this.#farEnd(from);
      this.#keyed.show(this.#within(spanOfCells(this.#anchor, to, grid)));
    }
    timeCursor.value = spanOfCell(to, grid).start;
    this.#stage?.reveal(to);
  }

  /** The cell at which a range that keys extend stays: the end of it that is farther away, or the cell itself. */
  #farEnd(from: number): number {
    const range = query.peek().range;
    if (range === null) {
      return from;
    }
    const grid = this.grid.peek();
    const [first, last] = [cellAtTime(range.start, grid), cellAtTime(range.end - 1, grid)];
    return Math.abs(from - first) < Math.abs(from - last) ? last : first;
  }

  get #whole(): TimeSpan {
    return wholeTime.peek() ?? { start: 0, end: 1 };
  }
}

function isSameTime(a: Grid, b: Grid): boolean {
  return a.period === b.period && a.rows === b.rows && a.first === b.first && a.columns === b.columns;
}

function requestFor(grid: Grid): HeatRequest {
  return { period: grid.period, rows: grid.rows, ...spanOfGrid(grid) };
}
