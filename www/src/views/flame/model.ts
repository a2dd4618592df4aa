// What the flame graph shows and does: asks the worker for a layout whenever something it depends on changes, and turns
// keys and pointer into changes of the page's state. Painting is the stage's business.

import { effect, signal, untracked } from "@preact/signals";
import type { Session } from "../../session/client.ts";
import type { FlameGraph, FlameWindow, PathStep, Query } from "../../session/types.ts";
import { ALL } from "../../session/types.ts";
import { hovered, namesGeneration, phase, query, search, selection, session, zoomRoot } from "../../state/app.ts";
import { percent } from "../../state/format.ts";
import { zoomTo } from "../../state/history.ts";
import { themeGeneration } from "../../state/theme.ts";
import type { Latest } from "../latest.ts";
import { latest } from "../latest.ts";
import { spokenName } from "../forced_name.tsx";
import { setDirection } from "../query_steps.ts";
import { foldedCalls } from "../words.ts";
import { deepestHotLeaf, FOLDED, NO_BOX, parentBox, siblingBox, widestChild } from "./hit_test.ts";
import { HoverCard } from "./hover.ts";
import type { FlameAction } from "./keys.ts";
import { followPointer } from "./pointer.ts";
import type { Laid, StageElements } from "./stage.ts";
import { FlameStage } from "./stage.ts";
import type { View } from "./zoom.ts";
import { WHOLE } from "./zoom.ts";

/** Calls narrower than this many CSS pixels are folded. */
const FOLD_BELOW_PX = 0.5;
const DEEPER = 4;

interface LayoutQuestion {
  session: Session;
  query: Query;
  names: number;
  window: FlameWindow;
}

export class FlameModel {
  readonly laid = signal<Laid | null>(null);
  /** What of the root is, or is being, moved on screen, and the canvas's width in CSS pixels. */
  readonly view = signal<View>(WHOLE);
  readonly width = signal(0);
  readonly failure = signal<string | null>(null);
  readonly card = new HoverCard();
  #stage: FlameStage | null = null;
  #answered: LayoutQuestion | null = null;
  /** The call node that a pointer selected: it is in sight already. */
  #pointed: number | null = null;
  readonly #layouts: Latest<LayoutQuestion> = latest<LayoutQuestion, FlameGraph>({
    ask: (question) => question.session.call("flameGraph", { query: question.query, window: question.window }),
    deliver: (graph, question) => this.#deliver(graph, question),
    fail: (error, { window }) => {
      // The numbers of call nodes change when names arrive: the former root may be gone.
      if (window.root !== ALL) {
        zoomRoot.value = ALL;
      } else {
        this.failure.value = error instanceof Error ? error.message : String(error);
      }
    },
  });

  /** Begins to work on the elements of the view, which is `area`; the answer ends it. `focus` is called when the pointer selects. */
  start(area: HTMLElement, elements: StageElements, focus: () => void): () => void {
    const stage = new FlameStage(elements);
    this.#stage = stage;
    const stops = [
      followPointer(area, elements.scroller, stage, {
        hover: (box, x, y) => this.#hover(box, x, y),
        select: (box) => {
          this.#pointed = box === NO_BOX ? null : (this.laid.peek()?.graph.callNode[box] ?? null);
          this.#select(box);
          focus();
        },
        zoomInto: (box, x) => this.#zoomInto(box, stage.across(x)),
      }),
      effect(() => this.#ask(stage)),
      effect(() => {
        this.view.value = stage.target.value;
        this.width.value = stage.width.value;
      }),
      effect(() => this.#followSelection(stage)),
      effect(() => {
        void themeGeneration.value;
        stage.themeChanged();
      }),
      () => this.#layouts.drop(),
      () => this.card.close(),
      () => stage.dispose(),
    ];
    return () => {
      for (const stop of stops) {
        stop();
      }
      this.#stage = null;
    };
  }

  act(action: FlameAction): void {
    const stage = this.#stage;
    if (!stage) {
      return;
    }
    switch (action.kind) {
      case "move":
        return this.#move(action.to);
      case "zoom-into-selection":
        return this.#zoomInto(stage.selected, 0.5);
      case "out-one":
        return this.outOne();
      case "reset":
        return this.reset();
      case "invert":
        return setDirection(query.peek().direction === "callees" ? "inverted" : "callees");
      case "magnify":
        return stage.zoom(action.factor, this.#selectionAcross(), "animated");
      case "pan":
        return stage.pan(action.screens * stage.width.peek(), "animated");
      case "clear":
        if (!this.card.close()) {
          selection.value = null;
        }
    }
  }

  /** First all of the present root, then the frame above it. */
  outOne(): void {
    const stage = this.#stage;
    if (stage && stage.target.peek().span < 1) {
      stage.showAll();
    } else {
      zoomTo(ancestors(this.laid.peek()).at(-1)?.callNode ?? ALL);
    }
  }

  reset(): void {
    this.#stage?.showAll();
    zoomTo(ALL);
  }

  #ask(stage: FlameStage): void {
    const names = namesGeneration.value;
    const asked = session.value;
    const width = stage.width.value;
    if (asked === null || phase.value.kind !== "open" || width < 1) {
      return;
    }
    const window = {
      root: zoomRoot.value,
      widthPx: Math.round(width * stage.screens.value),
      minPx: FOLD_BELOW_PX,
      search: search.value,
    };
    this.#layouts.ask({ session: asked, query: query.value, names, window });
  }

  #deliver(graph: FlameGraph, question: LayoutQuestion): void {
    const { window } = question;
    const laid = { graph, root: window.root, layoutPx: window.widthPx, searching: window.search !== "" };
    this.#answered = question;
    this.failure.value = null;
    this.card.close();
    this.laid.value = laid;
    this.#stage?.show(laid);
    this.#adopt();
  }

  /**
   * The graph on screen, unless the question or the names have changed since: its call nodes then mean nothing any
   * more, and the next graph is under way.
   */
  #current(): Laid | null {
    const answered = this.#answered;
    const isCurrent = answered?.query === query.peek() && answered.names === namesGeneration.peek();
    return isCurrent ? this.laid.peek() : null;
  }

  #followSelection(stage: FlameStage): void {
    const selected = selection.value;
    untracked(() => {
      stage.select(selected);
      if (selected?.callNode !== this.#pointed) {
        this.#pointed = null;
        stage.reveal(stage.selected);
      }
      this.#adopt();
    });
  }

  /** A selection that knows only its function takes the call node that stands for it here, and the other way round. */
  #adopt(): void {
    const box = this.#stage?.selected ?? NO_BOX;
    const graph = this.#current()?.graph;
    const selected = selection.peek();
    if (!graph || box === NO_BOX || !selected || (selected.callNode !== null && selected.functionId !== null)) {
      return;
    }
    selection.value = { callNode: graph.callNode[box] as number, functionId: graph.functionId[box] as number };
  }

  #select(box: number): void {
    const graph = this.#current()?.graph;
    if (!graph || box === NO_BOX || graph.callNode[box] === FOLDED) {
      selection.value = null;
      return;
    }
    selection.value = { callNode: graph.callNode[box] as number, functionId: graph.functionId[box] as number };
  }

  /** Makes a box the root; narrow calls that were folded are magnified instead. */
  #zoomInto(box: number, across: number): void {
    const laid = this.#current();
    if (!laid || box === NO_BOX) {
      return;
    }
    const callNode = laid.graph.callNode[box] as number;
    if (callNode === FOLDED) {
      this.#stage?.zoom(DEEPER, across, "animated");
    } else if (callNode === laid.root) {
      this.#stage?.showAll();
    } else {
      this.card.close();
      zoomTo(callNode);
    }
  }

  #move(to: "parent" | "child" | "previous" | "next" | "root" | "hot-leaf"): void {
    const laid = this.#current();
    const stage = this.#stage;
    if (!laid || !stage || laid.graph.depths === 0) {
      return;
    }
    const { graph } = laid;
    const from = stage.selected;
    if (from === NO_BOX) {
      return this.#select(to === "hot-leaf" ? deepestHotLeaf(graph, 0) : 0);
    }
    const goal = {
      parent: () => parentBox(graph, from),
      child: () => widestChild(graph, from),
      previous: () => siblingBox(graph, from, -1),
      next: () => siblingBox(graph, from, 1),
      root: () => 0,
      "hot-leaf": () => deepestHotLeaf(graph, from),
    }[to]();
    if (goal !== NO_BOX) {
      this.#select(goal);
    } else if (to === "parent") {
      this.outOne();
    }
  }

  #selectionAcross(): number {
    const stage = this.#stage;
    const place = stage?.rectOf(stage.selected);
    return stage && place ? Math.min(1, Math.max(0, stage.across(place.left + place.width / 2))) : 0.5;
  }

  #hover(box: number, x: number, y: number): void {
    const laid = this.laid.peek();
    this.#stage?.hover(box);
    if (!laid || box === NO_BOX) {
      hovered.value = "";
      this.card.leave();
      return;
    }
    const { graph } = laid;
    const name = graph.labels[graph.label[box] as number] ?? "";
    const of = percent((graph.total[box] as number) / graph.allTotal);
    const folded = graph.folded[box] as number;
    const callNode = graph.callNode[box] as number;
    if (callNode === FOLDED) {
      const what = foldedCalls(folded, name);
      hovered.value = `${what}, ${of}`;
      this.card.overFolded(box, `${what}, ${of}`, x, y);
    } else {
      hovered.value = name === "" ? of : `${spokenName(name, graph.flags[box] as number)}, ${of}`;
      this.card.overCallNode(callNode, x, y);
    }
  }
}

/** The call nodes above the root of what is shown, outermost first. */
export function ancestors(laid: Laid | null): readonly PathStep[] {
  return laid ? laid.graph.path.filter((each) => each.callNode !== laid.root) : [];
}

