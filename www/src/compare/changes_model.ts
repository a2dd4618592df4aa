// The part of the table of changes that has been loaded. The session sorts; the page asks for the rows in sight, a block
// at a time, newest wish first.

import { batch, signal } from "@preact/signals";
import type { Session } from "../session/client.ts";
import type { ChangeRows, CompareRequest } from "../session/types.ts";
import type { Latest } from "../views/latest.ts";
import { latest } from "../views/latest.ts";
import type { ChangeKey, ChangeOrder } from "./state.ts";
import type { ComparisonState } from "../state/url.ts";

/** Rows are asked for and kept in blocks of this many. */
const BLOCK = 128;

export interface ChangesQuestion {
  session: Session;
  request: CompareRequest;
  view: Pick<ComparisonState, "basis" | "width">;
  key: ChangeKey;
  order: ChangeOrder;
  /** `namesGeneration`. */
  names: number;
}

interface BlocksQuestion {
  of: ChangesQuestion;
  from: number;
  to: number;
}

/** One row, as a place in the columns that hold it. */
export interface ChangeRow {
  columns: ChangeRows;
  index: number;
}

export class ChangesModel {
  readonly count = signal(0);
  /** The largest change, which has the longest bar. */
  readonly largest = signal(0);
  readonly failure = signal<string | null>(null);
  /** Changes whenever rows arrive. */
  readonly arrivals = signal(0);
  #question: ChangesQuestion | null = null;
  #answered: ChangesQuestion | null = null;
  #blocks = new Map<number, { columns: ChangeRows; at: number }>();
  #wanted: [number, number] = [0, BLOCK];
  readonly #rows: Latest<BlocksQuestion> = latest<BlocksQuestion, ChangeRows>({
    ask: ({ of, from, to }) =>
      of.session.call("comparedChanges", {
        request: of.request, view: of.view, rows: { key: of.key, order: of.order, from, to },
      }),
    deliver: (rows, question) => this.#deliver(rows, question),
    fail: (error) => {
      this.failure.value = error instanceof Error ? error.message : String(error);
    },
  });

  /** Begins anew; the former rows stay until the first new ones are there. */
  ask(question: ChangesQuestion): void {
    this.#question = question;
    this.#load();
  }

  /** Says which rows are in sight. */
  want(from: number, to: number): void {
    this.#wanted = [from, Math.max(from + 1, to)];
    this.#load();
  }

  row(index: number): ChangeRow | null {
    const block = this.#blocks.get(Math.floor(index / BLOCK));
    const at = block === undefined ? 0 : block.at + (index % BLOCK);
    return block !== undefined && at < block.columns.functionId.length ? { columns: block.columns, index: at } : null;
  }

  /** Where a function is, if its row is loaded; else -1. */
  indexOf(functionId: number): number {
    for (const [block, { columns, at }] of this.#blocks) {
      const found = columns.functionId.subarray(at, at + BLOCK).indexOf(functionId);
      if (found >= 0) {
        return block * BLOCK + found;
      }
    }
    return -1;
  }

  #load(): void {
    const of = this.#question;
    if (of === null) {
      return;
    }
    const [from, to] = this.#wanted;
    const first = Math.floor(from / BLOCK);
    const last = Math.max(first, Math.ceil(to / BLOCK) - 1);
    const missing: number[] = [];
    for (let block = first; block <= last; block++) {
      if (of !== this.#answered || !this.#blocks.has(block)) {
        missing.push(block);
      }
    }
    const [begin, end] = [missing[0], missing.at(-1)];
    if (begin !== undefined && end !== undefined) {
      this.#rows.ask({ of, from: begin * BLOCK, to: (end + 1) * BLOCK });
    }
  }

  #deliver(columns: ChangeRows, { of, from }: BlocksQuestion): void {
    if (of !== this.#question) {
      return;
    }
    if (of !== this.#answered) {
      this.#blocks.clear();
      this.#answered = of;
    }
    for (let at = 0; at < columns.functionId.length; at += BLOCK) {
      this.#blocks.set((from + at) / BLOCK, { columns, at });
    }
    batch(() => {
      this.failure.value = null;
      this.count.value = columns.totalCount;
      this.largest.value = columns.largest;
      this.arrivals.value = this.arrivals.peek() + 1;
    });
  }
}
