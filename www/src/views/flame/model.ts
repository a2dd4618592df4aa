// What the flame graph shows and does: asks the worker for a layout whenever something it depends on changes, and turns
// keys and pointer into changes of the page's state. Painting is the stage's business.

import { batch, effect, signal, untracked } from "@preact/signals";
import type { Session } from "../../session/client.ts";
import type { FlameGraph, PathStep, Query } from "../../session/types.ts";
import { ALL, NONE } from "../../session/types.ts";
import type { Selection } from "../../state/app.ts";
import { hovered, namesGeneration, phase, session } from "../../state/app.ts";
import { openTransformMenu } from "../../shell/ContextMenu.tsx";
import { percent } from "../../state/format.ts";
import { themeGeneration } from "../../state/theme.ts";
import type { Latest } from "../latest.ts";
import { latest } from "../latest.ts";
import { spokenName } from "../forced_name.tsx";
import { colouring, rowHeight } from "../options.ts";
import { invert } from "../query_steps.ts";
import { severalCalls, spokenShare } from "../words.ts";
import type { Colouring } from "./colouring.ts";
import type { Answer, GraphHost, Layout } from "./host.ts";
import { PAGE_GRAPH } from "./host.ts";
import { boxAt, boxWithEdges, FOLDED, hottestBox, NO_BOX, parentBox, rowOf, siblingBox, widestChild } from "./hit_test.ts";
import { HoverCard } from "./hover.ts";
import type { FlameAction } from "./keys.ts";
import { followPointer } from "./pointer.ts";
import type { LaidOutGraph, StageElements } from "./stage.ts";
import { FlameStage } from "./stage.ts";
import type { View } from "./zoom.ts";
import { WHOLE } from "./zoom.ts";

const DEEPER = 4;

interface LayoutQuestion {
  session: Session;
  names: number;
  layout: Layout;
}

/** A box of several calls that keys or pointer are on: no call that other views could know. */
export interface SeveralCalls {
  box: number;
  words: string;
  /** The call that they hang on. */
  parent: number;
}

/** The graph that a selection was made in. */
const chosenIn = new WeakMap<Selection, FlameModel>();

export class FlameModel {
  readonly host: GraphHost;
  /** The box on screen that is selected, or NO_BOX. */
  readonly selectedBox = signal(NO_BOX);
  readonly several = signal<SeveralCalls | null>(null);
  readonly laid = signal<LaidOutGraph | null>(null);
  /** What of the root is, or is being, moved on screen, and the canvas's width in CSS pixels. */
  readonly view = signal<View>(WHOLE);
  readonly width = signal(0);
  readonly failure = signal<string | null>(null);
  readonly card: HoverCard;
  #stage: FlameStage | null = null;
  #answered: LayoutQuestion | null = null;
  /** Where the box lies that was selected: along time a call has many. */
  #exact: { callNode: number; row: number; at: number } | null = null;
  /** The box that was chosen while names had changed and their graph was not there yet: it is looked for in that. */
  #chosenBefore: { query: Query; row: number; place: View } | null = null;
  /** The call node that a pointer selected: it is in sight already. */
  #pointed: number | null = null;
  /** Where the pointer is over the graph, as a part of its width; null while it is elsewhere. */
  #pointer: number | null = null;
  readonly #layouts: Latest<LayoutQuestion> = latest<LayoutQuestion, Answer>({
    ask: ({ layout, session }, { signal }) => layout.ask(session, { signal }),
    deliver: (answer, question) => this.#deliver(answer, question),
    fail: (error) => {
      // The numbers of call nodes change when names arrive: the former root may be gone.
      if (ancestors(this.laid.peek()).length > 0) {
        this.host.zoomTo(ALL);
      } else {
        this.failure.value = error instanceof Error ? error.message : String(error);
      }
    },
  });

  constructor(host: GraphHost = PAGE_GRAPH) {
    this.host = host;
    this.card = new HoverCard(host.query, host.about);
  }

  get flow(): GraphHost["flow"] {
    return this.host.flow;
  }

  /** Begins to work on the elements of the view, which is `area`; the answer ends it. `focus` is called when the pointer selects. */
  start(area: HTMLElement, elements: StageElements, focus: () => void): () => void {
    const stage = new FlameStage(elements, this.host.sight);
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
        pointerAt: (x) => {
          this.#pointer = x === null ? null : stage.across(x);
        },
        menu: (x, y) => {
          focus();
          this.#openMenu(x, y);
        },
      }),
      effect(() => stage.look({ row: Number(rowHeight.value), flow: this.flow.value, colouring: this.#presentColouring() })),
      effect(() => this.#ask(stage)),
      effect(() => {
        this.view.value = stage.target.value;
        stage.follow(stage.target.value);
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

  #presentColouring(): Colouring {
    const graph = this.laid.value?.graph;
    return graph === undefined ? colouring.value : this.colouringOf(graph);
  }

  /** What the colours of a graph of this host tell: how calls changed is told box by box. Reads signals. */
  colouringOf(graph: FlameGraph): Colouring {
    return this.host.colouring?.(graph) ?? colouring.value;
  }

  act(action: FlameAction): void {
    const stage = this.#stage;
    // A key can be pressed before the first frame is painted, when there is no stage yet: the question needs none.
    if (action.kind === "invert") {
      return invert();
    }
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
      case "magnify":
        return stage.zoom(action.factor, this.#pointer ?? this.#selectionAcross(), "animated");
      case "pan":
        return stage.pan(action.screens * stage.width.peek(), "animated");
      case "clear":
        if (!this.card.close()) {
          this.#select(NO_BOX);
        }
    }
  }

  /** Whether there is anything that `clear` would close. */
  get hasSomethingToClear(): boolean {
    return this.card.content.peek() !== null || this.host.selection.peek() !== null || this.several.peek() !== null;
  }

  /** Selects a call in a row at a part of the whole: along time a call has many boxes. */
  selectAt(call: { callNode: number; functionId: number | null }, row: number, at: number): void {
    const laid = this.#current();
    const box = laid === null ? NO_BOX : boxAt(laid.graph, row, ((at - laid.part.left) / laid.part.span) * laid.layoutPx);
    // Where it is too narrow for a box of its own, none is gone to.
    this.#pointed = laid?.graph.callNode[box] === call.callNode ? null : call.callNode;
    this.#exact = { callNode: call.callNode, row, at };
    batch(() => {
      this.several.value = null;
      this.#choose(call);
    });
  }

  #choose(selected: Selection | null): void {
    if (selected !== null) {
      chosenIn.set(selected, this);
    }
    this.host.selection.value = selected;
  }

  /** Whether what is selected is brought into sight here: where several graphs share that, by the one it was chosen in. */
  #brings(selected: Selection | null): boolean {
    const by = selected === null ? undefined : chosenIn.get(selected);
    const isElsewhere = by !== undefined && by.#stage !== null && by.host.sight === this.host.sight;
    return by === this || this.host.sight === undefined || (this.host.follows !== "own" && !isElsewhere);
  }

  /** Opens the menu of what is selected, at its box. */
  openMenu(): void {
    const place = this.#stage?.rectOf(this.#stage.selected);
    if (place) {
      this.#openMenu(Math.max(0, place.left), place.bottom);
    }
  }

  #openMenu(x: number, y: number): void {
    this.card.close();
    if (this.host.menu === "transforms") {
      openTransformMenu({ x, y });
    }
  }

  /** First all of the present root, then the frame above it. */
  outOne(): void {
    if (!this.#stage?.out()) {
      this.host.outOne(ancestors(this.laid.peek()).map(({ callNode }) => callNode));
    }
  }

  reset(): void {
    this.#stage?.showAll();
    this.host.zoomTo(ALL);
  }

  #ask(stage: FlameStage): void {
    const names = namesGeneration.value;
    const asked = session.value;
    const width = stage.width.value;
    if (asked === null || phase.value.kind !== "open" || width < 1) {
      return;
    }
    const { target, screens } = stage;
    const layout = this.host.layout({ width, target, screens, present: untracked(() => this.#current()) });
    if (layout !== null) {
      this.#layouts.ask({ session: asked, names, layout });
    }
  }

  #deliver({ graph, root }: Answer, question: LayoutQuestion): void {
    const { layoutPx, part, searching, key } = question.layout;
    const laid = { graph, root, layoutPx, part, searching, key };
    this.#answered = question;
    this.failure.value = null;
    this.card.close();
    batch(() => {
      this.several.value = null;
      this.laid.value = laid;
    });
    this.#stage?.show(laid);
    this.#markExact();
    this.#selectChosenBefore(laid);
    this.#adopt();
  }

  /** What a box stood for is told by its place: weights stay as they are when names change. */
  #selectChosenBefore({ graph, part, layoutPx }: LaidOutGraph): void {
    const chosen = this.#chosenBefore;
    this.#chosenBefore = null;
    if (chosen !== null && chosen.query === this.host.query.peek()) {
      const px = (at: number): number => ((at - part.left) / part.span) * layoutPx;
      const { left, span } = chosen.place;
      const box = boxWithEdges(graph, chosen.row, px(left), px(left + span));
      if (box !== NO_BOX) {
        this.#select(box);
      }
    }
  }

  /**
   * The graph on screen, unless the question or the names have changed since: its call nodes then mean nothing any
   * more, and the next graph is under way.
   */
  #current(): LaidOutGraph | null {
    const answered = this.#answered;
    const isCurrent = answered?.layout.query === this.host.query.peek() && answered.names === namesGeneration.peek();
    return isCurrent ? this.laid.peek() : null;
  }

  #followSelection(stage: FlameStage): void {
    const selected = this.host.selection.value;
    const several = this.several.value;
    untracked(() => {
      stage.select(selected);
      if (several !== null) {
        stage.selectBox(several.box);
      }
      this.#markExact();
      if (selected?.callNode !== this.#pointed) {
        this.#pointed = null;
        if (this.#brings(selected)) {
          stage.reveal(stage.selected);
        }
      }
      this.#adopt();
    });
  }

  /** Marks the very box that was selected, where the selection is still that call. */
  #markExact(): void {
    const [stage, laid, exact] = [this.#stage, this.laid.peek(), this.#exact];
    if (stage && laid && exact && exact.callNode === this.host.selection.peek()?.callNode) {
      const box = boxAt(laid.graph, exact.row, ((exact.at - laid.part.left) / laid.part.span) * laid.layoutPx);
      if (box !== NO_BOX && laid.graph.callNode[box] === exact.callNode) {
        stage.selectBox(box);
      }
    }
    this.selectedBox.value = stage?.selected ?? NO_BOX;
  }

  /** A selection that knows only its function takes the call node that stands for it here, and the other way round. */
  #adopt(): void {
    const box = this.#stage?.selected ?? NO_BOX;
    const graph = this.#current()?.graph;
    const selected = this.host.selection.peek();
    if (!graph || box === NO_BOX || !selected || (selected.callNode !== null && selected.functionId !== null)) {
      return;
    }
    const known = selectionOf(graph, box);
    // A process has no function: what is known of it is all that there is.
    if (known.callNode !== selected.callNode || known.functionId !== selected.functionId) {
      this.host.selection.value = known;
    }
  }

  /** Selects a call by its box on screen. */
  selectBox = (box: number): void => this.#select(box);

  #select(box: number): void {
    const laid = this.#current();
    this.#chosenBefore = null;
    if (laid === null && box !== NO_BOX) {
      // The graph on screen cannot say what its boxes are any more; the next one can, which is under way.
      const [former, query] = [this.laid.peek(), this.#answered?.layout.query];
      if (former !== null && query !== undefined && this.#stage !== null) {
        this.#chosenBefore = { query, row: rowOf(former.graph, box), place: this.#stage.placeOf(box) };
        this.#stage.selectBox(box);
        this.selectedBox.value = box;
      }
      return;
    }
    const graph = laid?.graph;
    this.#exact = null;
    if (laid && box !== NO_BOX) {
      const { left, span } = this.#stage?.placeOf(box) ?? WHOLE;
      this.#exact = { callNode: laid.graph.callNode[box] as number, row: rowOf(laid.graph, box), at: left + span / 2 };
    }
    batch(() => {
      const isSeveral = graph !== undefined && box !== NO_BOX && graph.callNode[box] === FOLDED;
      this.several.value = isSeveral ? severalAt(graph, box) : null;
      this.#choose(graph && box !== NO_BOX && !isSeveral ? selectionOf(graph, box) : null);
    });
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
      this.host.enter(selectionOf(laid.graph, box), this.#stage?.placeOf(box) ?? WHOLE);
    }
  }

  #move(to: "parent" | "child" | "previous" | "next" | "root" | "hottest"): void {
    const laid = this.laid.peek();
    const stage = this.#stage;
    if (!laid || !stage || laid.graph.depths === 0) {
      return;
    }
    const { graph } = laid;
    const from = stage.selected;
    if (from === NO_BOX) {
      return this.#select(to === "hottest" ? hottestBox(graph, 0) : 0);
    }
    // With the root at the bottom, up is where the callees are.
    const up = this.flow.peek() === "up";
    const goal = {
      parent: () => (up ? widestChild : parentBox)(graph, from),
      child: () => (up ? parentBox : widestChild)(graph, from),
      previous: () => siblingBox(graph, from, -1),
      next: () => siblingBox(graph, from, 1),
      root: () => 0,
      hottest: () => hottestBox(graph, from),
    }[to]();
    if (goal !== NO_BOX) {
      this.#select(goal);
    } else if (to === (up ? "child" : "parent") && this.#current() !== null) {
      this.outOne();
    }
  }

  #selectionAcross(): number {
    const stage = this.#stage;
    const place = stage?.rectOf(stage.selected);
    return stage && place ? Math.min(1, Math.max(0, stage.across(place.left + place.width / 2))) : 0.5;
  }

  #hover(box: number, x: number, y: number): void {
    const laid = this.#current();
    this.#stage?.hover(box);
    if (!laid || box === NO_BOX) {
      hovered.value = "";
      this.card.leave();
      return;
    }
    const { graph } = laid;
    const name = graph.labels[graph.label[box] as number] ?? "";
    const of = this.host.cost?.(graph, box) ?? percent((graph.total[box] as number) / graph.allTotal);
    const callNode = graph.callNode[box] as number;
    if (callNode === FOLDED) {
      const words = `${wordsOf(graph, box)}, ${of}`;
      hovered.value = words;
      this.card.overSeveral(box, [words, this.host.note(laid, box)].filter((part) => part !== "").join(". "), x, y);
    } else {
      hovered.value = name === "" ? of : `${spokenName(name, graph.flags[box] as number)}, ${of}`;
      this.card.overCall({ box, callNode, note: this.host.note(laid, box) }, x, y);
    }
  }
}

function selectionOf(graph: FlameGraph, box: number): { callNode: number; functionId: number | null } {
  const functionId = graph.functionId[box] as number;
  return { callNode: graph.callNode[box] as number, functionId: functionId === NONE ? null : functionId };
}

function wordsOf(graph: FlameGraph, box: number): string {
  const name = graph.labels[graph.label[box] as number] ?? "";
  return severalCalls(graph.folded[box] as number, name, graph.kind[box] as number);
}

function severalAt(graph: FlameGraph, box: number): SeveralCalls {
  let parent = parentBox(graph, box);
  while (parent !== NO_BOX && graph.callNode[parent] === FOLDED) {
    parent = parentBox(graph, parent);
  }
  const words = `${wordsOf(graph, box)}, total ${spokenShare(graph.total[box] as number, graph.allTotal)}`;
  return { box, words, parent: parent === NO_BOX ? ALL : (graph.callNode[parent] as number) };
}

/** The call nodes above the root of what is shown, outermost first. */
export function ancestors(laid: LaidOutGraph | null): readonly PathStep[] {
  return laid ? laid.graph.path.filter((each) => each.callNode !== laid.root) : [];
}
