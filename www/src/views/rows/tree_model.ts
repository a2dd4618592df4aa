// The open part of a call tree. Children are asked for when a call node is opened, and kept until the tree is another
// one.

import type { Signal } from "@preact/signals";
import { batch, computed, signal } from "@preact/signals";
import type { CallOptions, Session } from "../../session/client.ts";
import { Cancelled, WorkerDied } from "../../session/client.ts";
import type { CallTreeRows, Query } from "../../session/types.ts";
import { ALL } from "../../session/types.ts";
import type { Selection } from "../../state/app.ts";
import { selection } from "../../state/app.ts";
import { hottestCallee } from "../hottest.ts";
import type { TreeColumns, TreeRow } from "./tree_rows.ts";
import { visibleTreeRows } from "./tree_rows.ts";

/** `*` opens no more than this many call nodes, the heaviest first on each level. */
const MOST_OPENED = 1000;
/** Of the callees of one call node so many are listed, the heaviest. */
const MOST_CHILDREN = 10_000;
/** A path longer than this is not followed further. */
const LONGEST_PATH = 4096;

/** Where a tree comes from. */
export interface TreeSource<Columns extends TreeColumns> {
  /** What the tree is of: the same objects and numbers make the same tree. */
  of: readonly unknown[];
  /** At most so many callees of a call node, the first ones of its order. */
  children: (callNode: number, most: number, options: CallOptions) => Promise<Columns>;
  /** The call nodes from the first level down to the caller of one. */
  above: (callNode: number, options: CallOptions) => Promise<number[]>;
  /** What bars are shares of. */
  whole: (options: CallOptions) => Promise<number>;
}

/** The tree of a query. `names` is `namesGeneration`: call nodes have other numbers after names arrived. */
export function treeOf(session: Session, query: Query, names: number): TreeSource<CallTreeRows> {
  return {
    of: [session, query, names],
    children: (callNode, most, options) => session.call("callTreeChildren", { query, callNode, from: 0, to: most }, options),
    above: async (callNode, options) =>
      (await session.call("callNodeDetail", { query, callNode }, options))?.pathNodes.slice(0, -1) ?? [],
    whole: async (options) => (await session.call("callTreePath", { query, callNode: ALL }, options)).total[0] ?? 0,
  };
}

export class TreeModel<Columns extends TreeColumns> {
  readonly children = signal<ReadonlyMap<number, Columns>>(new Map());
  readonly open = signal<ReadonlySet<number>>(new Set());
  readonly rows = computed<TreeRow<Columns>[]>(() => visibleTreeRows(this.children.value, this.open.value));
  /** What bars are shares of. */
  readonly whole = signal(0);
  /** How many callees are not listed, of the call nodes that are open. */
  readonly left = computed(() => {
    const open = [ALL, ...this.open.value].map((callNode) => this.children.value.get(callNode));
    return open.reduce((sum, rows) => sum + (rows === undefined ? 0 : (rows.setSize[0] ?? 0) - rows.callNode.length), 0);
  });
  readonly failure = signal<string | null>(null);
  /** How many openings are under way. */
  readonly working = signal(0);
  readonly #selection: Signal<Selection | null>;
  #source: TreeSource<Columns> | null = null;
  /** Of the present tree: questions about a former one are taken back, and their answers dropped. */
  #asked = new AbortController();

  /** The path to what is selected opens; the hottest path selects its end. */
  constructor(selected: Signal<Selection | null>) {
    this.#selection = selected;
  }

  /** Begins anew if the tree is another one; the path to the selection opens. */
  async ask(source: TreeSource<Columns>): Promise<void> {
    const former = this.#source;
    if (former !== null && source.of.every((part, place) => part === former.of[place])) {
      return;
    }
    this.#asked.abort();
    const mine = new AbortController();
    this.#asked = mine;
    this.#source = source;
    await this.#quietly(async () => {
      const [first, whole] = await Promise.all([
        source.children(ALL, MOST_CHILDREN, { signal: mine.signal }),
        source.whole({ signal: mine.signal }),
      ]);
      if (mine !== this.#asked) {
        return;
      }
      batch(() => {
        this.failure.value = null;
        this.whole.value = whole;
        this.children.value = new Map([[ALL, first]]);
        this.open.value = new Set();
      });
      const selected = this.#selection.peek()?.callNode ?? null;
      if (selected !== null) {
        await this.#openPathTo(selected);
      } else if (first.callNode.length === 1) {
        await this.#openOne(first.callNode[0] as number);
      }
    });
  }

  toggle(callNode: number): void {
    if (this.open.peek().has(callNode)) {
      this.close(callNode);
    } else {
      void this.#quietly(() => this.#openOne(callNode));
    }
  }

  close(callNode: number): void {
    const open = new Set(this.open.peek());
    open.delete(callNode);
    this.open.value = open;
  }

  openPathTo(callNode: number): Promise<void> {
    return this.#quietly(() => this.#openPathTo(callNode));
  }

  /** Opens a call node and all below it, breadth first, up to a bound. */
  openAllBelow(callNode: number): Promise<void> {
    return this.#quietly(async () => {
      const mine = this.#asked;
      let level = [callNode];
      let opened = 0;
      while (level.length > 0 && opened < MOST_OPENED && mine === this.#asked) {
        const now = level.slice(0, MOST_OPENED - opened);
        const columns = await Promise.all(now.map((each) => this.#load(each)));
        opened += now.length;
        this.#setOpen(now);
        level = columns.flatMap((each) => [...each.callNode].filter((_, i) => (each.childCount[i] as number) > 0));
      }
    });
  }

  /** Opens the hottest path and selects its end. */
  openHottestPath(from: number, weights: (columns: Columns) => Float64Array): Promise<void> {
    return this.#quietly(async () => {
      const mine = this.#asked;
      const whole = (await this.#source?.whole({ signal: mine.signal })) ?? 0;
      const start = this.#weightOf(from, weights) ?? whole;
      const path: number[] = [];
      let last = from;
      let weight = start;
      while (path.length < LONGEST_PATH) {
        const columns = await this.#load(last);
        if (mine !== this.#asked) {
          return;
        }
        const of = weights(columns);
        const callees = Array.from(columns.callNode, (place, at) => ({ place, weight: of[at] as number }));
        const next = hottestCallee(weight, callees, start, whole);
        if (next === null) {
          break;
        }
        path.push(last);
        last = next;
        weight = callees.find(({ place }) => place === next)?.weight ?? 0;
      }
      this.#setOpen(path);
      if (last !== ALL) {
        this.#selection.value = { callNode: last, functionId: null };
      }
    });
  }

  /** Of a call node whose row was loaded. */
  #weightOf(callNode: number, weights: (columns: Columns) => Float64Array): number | undefined {
    for (const columns of this.children.peek().values()) {
      const at = columns.callNode.indexOf(callNode);
      if (at >= 0) {
        return weights(columns)[at];
      }
    }
    return undefined;
  }

  async #openOne(callNode: number): Promise<void> {
    const mine = this.#asked;
    await this.#load(callNode);
    if (mine === this.#asked) {
      this.#setOpen([callNode]);
    }
  }

  async #openPathTo(callNode: number): Promise<void> {
    const mine = this.#asked;
    const above = (await this.#source?.above(callNode, { signal: mine.signal })) ?? [];
    await Promise.all(above.map((each) => this.#load(each)));
    if (mine === this.#asked) {
      this.#setOpen(above);
    }
  }

  #setOpen(callNodes: readonly number[]): void {
    this.open.value = new Set([...this.open.peek(), ...callNodes]);
  }

  async #load(callNode: number): Promise<Columns> {
    const known = this.children.peek().get(callNode);
    if (known || this.#source === null) {
      return known ?? Promise.reject(new Cancelled());
    }
    const mine = this.#asked;
    const columns = await this.#source.children(callNode, MOST_CHILDREN, { signal: mine.signal });
    if (mine === this.#asked) {
      this.children.value = new Map(this.children.peek()).set(callNode, columns);
    }
    return columns;
  }

  async #quietly(work: () => Promise<void>): Promise<void> {
    this.working.value = this.working.peek() + 1;
    try {
      await work();
    } catch (error) {
      if (!(error instanceof Cancelled) && !(error instanceof WorkerDied)) {
        this.failure.value = error instanceof Error ? error.message : String(error);
      }
    } finally {
      this.working.value = this.working.peek() - 1;
    }
  }
}

/** A tree of one profile. */
export type CallTreeModel = TreeModel<CallTreeRows>;

/** The one call tree of the page; what is open stays open while other views are shown. */
export const callTree: CallTreeModel = new TreeModel(selection);

/** Opens the hottest path from what is selected, or from the root. */
export function expandHottestPath(): void {
  void callTree.openHottestPath(selection.peek()?.callNode ?? ALL, (rows) => rows.total);
}
