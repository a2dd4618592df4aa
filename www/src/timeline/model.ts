// What the timeline shows and does: asks the worker whenever something it depends on changes, and turns keys and
// pointer into changes of the page's state. Painting is the stage's business.

import { batch, computed, effect, signal, untracked } from "@preact/signals";
import type { Session } from "../session/client.ts";
import type { Query, Timeline, TimelineRequest, TrackBy } from "../session/types.ts";
import { draggedRange, event, hovered, namesGeneration, phase, query, session } from "../state/app.ts";
import { eventTasks } from "../state/event_tasks.ts";
import { weight } from "../state/format.ts";
import { runTask } from "../state/tasks.ts";
import { themeGeneration } from "../state/theme.ts";
import { latest } from "../views/latest.ts";
import { endDrag, previewRange, setCpus, setProcesses, setRange, setThreads } from "../views/query_steps.ts";
import { markFrom, marks, wordsOfMarksAt } from "./marks.ts";
import type { GestureHandlers } from "./gestures.ts";
import { followGestures } from "./gestures.ts";
import type { TimeAction } from "./keys.ts";
import { prepareDrag } from "./prepare.ts";
import { KeyedRange } from "./range_keys.ts";
import type { Row } from "./rows.ts";
import { rowsOf } from "./rows.ts";
import { ALL_ROW, binAt, rowAt } from "./scene.ts";
import type { TimeElements, TimelineForm } from "./stage.ts";
import { TimeStage } from "./stage.ts";
import {
  changeTime,
  chosenInstant,
  hasSingleSamples,
  hiddenTracks,
  openProcesses,
  plotWidth,
  pointedInstant,
  rangeShown,
  showTime,
  stackWords,
  timeCursor,
  timeInSight,
  timeQuery,
  trackKind,
  trackOrder,
  wholeTime,
} from "./state.ts";
import type { TimeSpan } from "./time_window.ts";
import { extended, lengthOf, pointedTime, revealTime, roundStep, spanOf, timeAt, xOf } from "./time_window.ts";
import { decimalsFor, lengthWords, NO_SINGLE_SAMPLES, rangeWords, secondsWith } from "./words.ts";

const BIN_PX = 2;
/** Steps of the cursor in what is in sight. */
const CURSOR_STEPS = 200;
/** How near the pointer has to be to a mark. */
const MARK_REACH = 6;

interface Question {
  session: Session;
  query: Query;
  request: TimelineRequest;
}

/** A word beside the pointer about what it is over. */
export interface Tip {
  text: string;
  x: number;
  y: number;
}

export class TimelineModel {
  readonly answer = signal<Timeline | null>(null);
  /** What the tracks of the answer are. */
  readonly #by = signal<TrackBy>("process");
  readonly failure = signal<string | null>(null);
  readonly tip = signal<Tip | null>(null);
  readonly rows = computed<readonly Row[]>(() => {
    const answer = this.answer.value;
    const by = this.#by.value;
    // Without single samples, the tasks that can be filtered by are processes alone.
    const tasks = by === "process" || hasSingleSamples.value ? eventTasks.value : null;
    const all = answer === null ? [] : rowsOf(answer, tasks, by, openProcesses.value);
    return all.filter(({ key }) => !hiddenTracks.value.has(key));
  });
  /** The row that keys are on. */
  readonly activeRow = signal(ALL_ROW);
  /** What the cursor stands on, as it is spoken. */
  readonly spoken = computed(() => {
    const time = timeCursor.value ?? timeInSight.value.start;
    const mark = wordsOfMarksAt(time);
    const words = mark === null ? this.wordsAt(time, this.activeRow.value) : `${this.timeWords(time)}: ${mark}`;
    const stack = stackWords.value;
    return stack?.time === time ? `${words}, ${stack.words}` : words;
  });
  #stage: TimeStage | null = null;
  readonly #keyed = new KeyedRange(
    (range) => previewRange({ ...range, side: "inside" }),
    (range) => setRange({ ...range, side: "inside" }),
  );
  readonly #answers = latest<Question, Timeline>({
    ask: ({ session: asked, query: of, request }, abort) =>
      runTask("Laying out the timeline", (options) => asked.call("timeline", { query: of, request }, options), abort),
    deliver: (answer, { request }) => {
      batch(() => {
        this.failure.value = null;
        this.#by.value = request.by;
        this.answer.value = answer;
      });
    },
    fail: (error) => {
      this.failure.value = error instanceof Error ? error.message : String(error);
    },
  });

  /**
   * Begins to work on the elements of the timeline, which is `area`; the answer ends it. `focus` is called when the pointer
   * is pressed.
   */
  start(area: HTMLElement, elements: TimeElements, form: TimelineForm, focus: () => void): () => void {
    const stage = new TimeStage(elements, form);
    this.#stage = stage;
    const locate = (at: MouseEvent): { x: number; y: number } | null => {
      const { target } = at;
      const isElsewhere = target instanceof Element && target.closest("button, .timeline-head, .popover-wrap") !== null;
      const place = stage.at(at.clientX, at.clientY);
      return isElsewhere || place.x < 0 || isOnScrollBar(at, elements.scroller) ? null : place;
    };
    const stops = [
      followGestures(area, locate, "across", this.#gestures(stage, focus)),
      effect(() => this.#ask(stage, form)),
      effect(() =>
        stage.show(
          this.answer.value,
          this.rows.value.map(({ track }) => track),
        ),
      ),
      effect(() => {
        plotWidth.value = stage.width.value;
      }),
      effect(() => stage.showMarks(marks.value)),
      effect(() => stage.showWindow(timeInSight.value)),
      effect(() => stage.mark({ range: rangeShown.value, inverted: rangeShown.value?.side === "outside" })),
      effect(() => stage.mark({ cursor: timeCursor.value })),
      effect(() => {
        void themeGeneration.value;
        stage.themeChanged();
      }),
      () => this.#answers.drop(),
      () => stage.dispose(),
    ];
    return () => {
      for (const stop of stops) {
        stop();
      }
      this.#stage = null;
    };
  }

  // Questions ----------------------------------------------------------------------------------------------------------

  #ask(stage: TimeStage, form: TimelineForm): void {
    void namesGeneration.value;
    const asked = session.value;
    const width = stage.width.value;
    if (asked === null || phase.value.kind !== "open" || wholeTime.value === null || width < BIN_PX) {
      return;
    }
    const request: TimelineRequest = {
      // Alone, all CPUs need no others.
      by: form === "tracks" ? trackKind.value : "cpu",
      sort: trackOrder.value,
      open: [...openProcesses.value],
      start: Math.floor(timeInSight.value.start),
      end: Math.ceil(timeInSight.value.end),
      bins: Math.floor(width / BIN_PX),
    };
    const question = { session: asked, query: timeQuery.value, request };
    untracked(() => this.#answers.ask(question));
  }

  // Pointer ------------------------------------------------------------------------------------------------------------

  #gestures(stage: TimeStage, focus: () => void): GestureHandlers {
    const time = (x: number): number => pointedTime(x, timeInSight.peek(), stage.width.peek(), this.#whole);
    return {
      edgeNear: (x, reach) => this.#edgeNear(x, reach),
      press: (x, y) => {
        prepareDrag();
        focus();
        timeCursor.value = time(x);
        this.activeRow.value = rowAtHeight(stage, y);
      },
      drag: (from, to, how) => {
        if (!hasSingleSamples.peek()) {
          hovered.value = NO_SINGLE_SAMPLES;
          return;
        }
        const range = this.#range();
        // A handle that was grasped beside its edge keeps that distance.
        const grasped = how === "start" || how === "end" ? (range?.[how] ?? null) : null;
        const beside = grasped === null ? 0 : xOf(grasped, timeInSight.peek(), stage.width.peek()) - from;
        const now = time(to + beside);
        this.#drag(
          how === "new" || range === null
            ? spanOf(time(from), now)
            : how === "extend"
              ? extended(range, now)
              : how === "start"
                ? spanOf(now, range.end)
                : spanOf(range.start, now),
        );
        timeCursor.value = now;
      },
      drop: endDrag,
      hover: (x, y, clientX, clientY) => {
        prepareDrag();
        this.#hover(x, y, clientX, clientY);
      },
      leave: () => this.#leave(),
      click: (x, y) => {
        chosenInstant.value = { time: time(x), tid: this.#tidAt(rowAtHeight(stage, y)) };
      },
      doubleClick: (_, y) => {
        const row = this.rows.peek()[rowAtHeight(stage, y)];
        if (row) {
          this.choose(row);
        }
      },
      zoom: (factor, x) => changeTime({ kind: "zoom", factor }, timeAt(x, timeInSight.peek(), stage.width.peek())),
      pan: (pixels) => changeTime({ kind: "pan", share: pixels / Math.max(1, stage.width.peek()) }),
    };
  }

  /** The range that is set, which a drag extends. */
  #range(): TimeSpan | null {
    return query.peek().range;
  }

  #drag(span: TimeSpan): void {
    previewRange({ ...span, side: "inside" });
    hovered.value = `${rangeWords(span)}, ${lengthWords(span)}`;
  }

  #edgeNear(x: number, reach: number): "start" | "end" | null {
    const range = this.#range();
    const width = this.#stage?.width.peek() ?? 0;
    if (range === null) {
      return null;
    }
    const far = (time: number): number => Math.abs(xOf(time, timeInSight.peek(), width) - x);
    const [start, end] = [far(range.start), far(range.end)];
    return Math.min(start, end) > reach ? null : start < end ? "start" : "end";
  }

  #hover(x: number, y: number, clientX: number, clientY: number): void {
    const scene = this.#stage?.scene;
    if (!scene) {
      return;
    }
    const time = timeAt(x, scene.window, scene.width);
    this.#stage?.mark({ pointer: time });
    const mark = y < scene.sizes.ruler ? this.#markNear(x) : null;
    const words = mark === null ? null : wordsOfMarksAt(mark);
    this.tip.value = mark === null ? null : { text: `${this.timeWords(mark)}: ${words ?? ""}`, x: clientX, y: clientY };
    const row = rowAt(scene, y) ?? ALL_ROW;
    hovered.value = this.wordsAt(time, row);
    pointedInstant.value = mark === null ? { time, tid: this.#tidAt(row), x: clientX, y: clientY } : null;
  }

  #tidAt(row: number): number | null {
    return this.rows.peek()[row]?.tid ?? null;
  }

  /** What the keys are on is chosen: a row, or the instant in all of them. */
  enter(): void {
    const row = this.rows.peek()[this.activeRow.peek()];
    const time = timeCursor.peek();
    if (row) {
      this.choose(row);
    } else if (time !== null) {
      chosenInstant.value = { time, tid: null };
    }
  }

  #leave(): void {
    this.#stage?.mark({ pointer: null });
    this.tip.value = null;
    pointedInstant.value = null;
    hovered.value = "";
  }

  /** The time of the mark that is nearest to a place on the ruler. */
  #markNear(x: number): number | null {
    const scene = this.#stage?.scene;
    let best: number | null = null;
    let nearest = MARK_REACH;
    for (const time of scene?.marks?.time ?? []) {
      const far = scene ? Math.abs(xOf(time, scene.window, scene.width) - x) : Infinity;
      if (far < nearest) {
        [best, nearest] = [time, far];
      }
    }
    return best;
  }

  // Words --------------------------------------------------------------------------------------------------------------

  /** "21.60 s, nginx, 12.3 ms" */
  wordsAt(time: number, row: number): string {
    const answer = this.answer.value;
    const shown = this.rows.value[row];
    const track = row === ALL_ROW ? 0 : (shown?.track ?? null);
    const bin = answer && track !== null ? binAt(answer, track, time) : null;
    const name = row === ALL_ROW ? "All CPUs" : (shown?.label ?? "");
    return `${this.timeWords(time)}, ${name}, ${weight(bin?.weight ?? 0, event.value?.name ?? "")}`;
  }

  /** As precise as what is in sight can tell. */
  timeWords(time: number): string {
    return secondsWith(time, decimalsFor(lengthOf(timeInSight.value) / 10));
  }

  // Keys ---------------------------------------------------------------------------------------------------------------

  act(action: TimeAction): void {
    switch (action.kind) {
      case "mark":
        return this.#toMark(action.to);
      case "cursor":
        if (action.along === "rows") {
          return this.toRow(this.activeRow.peek() + action.steps);
        }
        return this.#moveCursor(action.steps * roundStep(lengthOf(timeInSight.peek()) / CURSOR_STEPS), action.range);
      default:
        return changeTime(action, this.#cursorInSight());
    }
  }

  /** A key that made a range was let go. */
  settle(): void {
    this.#keyed.settle();
  }

  /** Moves an edge of the range, or of the whole where there is none yet. */
  moveEdge(edge: "start" | "end", steps: number): void {
    const range = draggedRange.peek() ?? this.#range() ?? this.#whole;
    const step = steps * roundStep(lengthOf(timeInSight.peek()) / CURSOR_STEPS);
    const time = Math.min(this.#whole.end, Math.max(this.#whole.start, range[edge] + step));
    this.#keyed.moveEdge(edge, time, range);
    timeCursor.value = time;
    this.#reveal(time);
  }

  #moveCursor(by: number, range: "kept" | "extended"): void {
    const from = timeCursor.peek() ?? this.#range()?.end ?? timeInSight.peek().start;
    const to = Math.min(this.#whole.end, Math.max(this.#whole.start, from + by));
    if (range === "extended" && hasSingleSamples.peek()) {
      this.#keyed.extend(from, to, this.#range());
    }
    timeCursor.value = to;
    this.#reveal(to);
  }

  #toMark(to: "earlier" | "later"): void {
    const from = timeCursor.peek() ?? (to === "later" ? -1 : this.#whole.end);
    const next = markFrom(from, to);
    if (next !== null) {
      timeCursor.value = next;
      this.#reveal(next);
      hovered.value = this.spoken.peek();
    }
  }

  /** Makes a row the one that keys are on, and scrolls to it. */
  toRow(row: number): void {
    this.activeRow.value = Math.min(this.rows.peek().length - 1, Math.max(ALL_ROW, row));
    this.#stage?.revealRow(this.activeRow.peek());
  }

  /** Opens or closes a process's threads. */
  setOpened(row: Row, opened: "open" | "closed"): void {
    const open = new Set(openProcesses.peek());
    if (row.pid !== null && row.opened !== null) {
      open[opened === "open" ? "add" : "delete"](row.pid);
      openProcesses.value = open;
    }
  }

  hide(row: Row): void {
    hiddenTracks.value = new Map([...hiddenTracks.peek(), [row.key, row.label]]);
    this.toRow(this.activeRow.peek());
  }

  /** Shows this row's thread, process or CPU alone; chosen again, everything. */
  choose(row: Row): void {
    const asked = query.peek();
    const only = (chosen: readonly number[], one: number): number[] => (chosen.length === 1 && chosen[0] === one ? [] : [one]);
    if (row.tid !== null && !hasSingleSamples.peek()) {
      hovered.value = NO_SINGLE_SAMPLES;
    } else if (row.tid !== null) {
      setThreads(only(asked.threads, row.tid));
    } else if (row.pid !== null) {
      setProcesses(only(asked.processes, row.pid));
    } else if (row.cpu !== null) {
      setCpus(only(asked.cpus, row.cpu));
    }
  }

  get #whole(): TimeSpan {
    return wholeTime.peek() ?? { start: 0, end: 1 };
  }

  #reveal(time: number): void {
    untracked(() => showTime(revealTime(timeInSight.peek(), this.#whole, time)));
  }

  /** The cursor where it is in sight, else the middle. */
  #cursorInSight(): number {
    const { start, end } = timeInSight.peek();
    const cursor = timeCursor.peek();
    return cursor !== null && cursor >= start && cursor <= end ? cursor : (start + end) / 2;
  }
}

/** All CPUs where there is no other row. */
function rowAtHeight({ scene }: TimeStage, y: number): number {
  return (scene && rowAt(scene, y)) ?? ALL_ROW;
}

function isOnScrollBar({ target, clientX }: MouseEvent, scroller: HTMLElement | null): boolean {
  return scroller !== null && target === scroller && clientX >= scroller.getBoundingClientRect().left + scroller.clientWidth;
}
