// The part of a table of functions that has been loaded. The session sorts; the page asks for the rows in sight, a block
// at a time, newest wish first.

import { batch, signal } from "@preact/signals";
import type { CallOptions } from "../../session/client.ts";
import type { Latest } from "../latest.ts";
import { latest } from "../latest.ts";

/** Rows are asked for and kept in blocks of this many. */
const BLOCK = 128;
/** Blocks kept; the ones out of sight go first. */
const MOST_BLOCKS = 64;

/** Rows as columns, as the session answers them. */
export interface Columns {
  /** All rows, of which these are a part. */
  totalCount: number;
  functionId: Uint32Array;
}

/** One row, as a place in the columns that hold it. */
export interface LoadedRow<Rows extends Columns> {
  columns: Rows;
  index: number;
}

interface BlocksQuestion<Question> {
  of: Question;
  from: number;
  to: number;
}

export class LoadedRows<Question, Rows extends Columns> {
  readonly count = signal(0);
  readonly failure = signal<string | null>(null);
  /** The rows that arrived last. */
  readonly newest = signal<Rows | null>(null);
  #question: Question | null = null;
  /** Each block as the columns that hold it and where in them it begins. */
  #blocks = new Map<number, { columns: Rows; at: number }>();
  /** The question that `#blocks` answer. */
  #answered: Question | null = null;
  #wanted: [number, number] = [0, BLOCK];
  readonly #rows: Latest<BlocksQuestion<Question>>;

  /** `ask` answers the rows of a question from `from` until before `to`. */
  constructor(ask: (question: Question, from: number, to: number, options: CallOptions) => Promise<Rows>) {
    this.#rows = latest<BlocksQuestion<Question>, Rows>({
      ask: ({ of, from, to }, { signal }) => ask(of, from, to, { signal }),
      deliver: (rows, question) => this.#deliver(rows, question),
      fail: (error) => {
        this.failure.value = error instanceof Error ? error.message : String(error);
      },
    });
  }

  /** What was asked last. */
  get question(): Question | null {
    return this.#question;
  }

  /** Begins anew; the former rows stay until the first new ones are there. */
  ask(question: Question): void {
    this.#question = question;
    this.#load();
  }

  /** Says which rows are in sight. */
  want(from: number, to: number): void {
    this.#wanted = [from, Math.max(from + 1, to)];
    this.#load();
  }

  /** Nobody looks any more. Rows that are missing are asked for when somebody wants them again. */
  drop(): void {
    this.#rows.drop();
  }

  row(index: number): LoadedRow<Rows> | null {
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

  #deliver(columns: Rows, { of, from }: BlocksQuestion<Question>): void {
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
    for (const block of this.#blocks.keys()) {
      if (this.#blocks.size <= MOST_BLOCKS) {
        break;
      }
      this.#blocks.delete(block);
    }
    batch(() => {
      this.failure.value = null;
      this.count.value = columns.totalCount;
      this.newest.value = columns;
    });
  }
}
