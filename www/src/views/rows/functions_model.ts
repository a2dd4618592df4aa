// The part of the functions table that has been loaded. The session sorts; the page asks for the rows in sight, a block
// at a time, newest wish first.

import { batch, signal } from "@preact/signals";
import type { Session } from "../../session/client.ts";
import type { FunctionRows, FunctionsOrder, Query } from "../../session/types.ts";
import { ALL } from "../../session/types.ts";
import type { FunctionGroup } from "../../state/url.ts";
import type { Latest } from "../latest.ts";
import { latest } from "../latest.ts";

/** Rows are asked for and kept in blocks of this many. */
const BLOCK = 128;
/** Blocks kept; the ones out of sight go first. */
const MOST_BLOCKS = 64;

export interface FunctionsQuestion {
  session: Session;
  query: Query;
  order: FunctionsOrder;
  groupBy: FunctionGroup;
  /** `namesGeneration`. */
  names: number;
}

interface BlocksQuestion {
  of: FunctionsQuestion;
  from: number;
  to: number;
}

/** One row, as a place in the columns that hold it. */
export interface FunctionRow {
  columns: FunctionRows;
  index: number;
}

export class FunctionsModel {
  readonly count = signal(0);
  /** The weight that shares are of, and the largest self weight, which has the longest bar. */
  readonly whole = signal(0);
  readonly largestSelf = signal(0);
  readonly failure = signal<string | null>(null);
  /** Changes whenever rows arrive. */
  readonly arrivals = signal(0);
  #question: FunctionsQuestion | null = null;
  #blocks = new Map<number, FunctionRows>();
  /** The question that `#blocks` answer. */
  #answered: FunctionsQuestion | null = null;
  #wanted: [number, number] = [0, BLOCK];
  readonly #rows: Latest<BlocksQuestion> = latest<BlocksQuestion, FunctionRows>({
    ask: ({ of, from, to }) => of.session.call("functions", { query: of.query, order: of.order, groupBy: of.groupBy, from, to }),
    deliver: (rows, question) => this.#deliver(rows, question),
    fail: (error) => {
      this.failure.value = error instanceof Error ? error.message : String(error);
    },
  });

  /** Begins anew if the question is another one; the former rows stay until the first new ones are there. */
  ask(question: FunctionsQuestion): void {
    const former = this.#question;
    if (former && former.session === question.session && former.query === question.query
      && former.order === question.order && former.groupBy === question.groupBy && former.names === question.names) {
      return;
    }
    this.#question = question;
    const isOther = former?.query !== question.query || former.session !== question.session;
    if (isOther || former.groupBy !== question.groupBy || former.names !== question.names) {
      void this.#askBases(question);
    }
    this.#load();
  }

  /** Says which rows are in sight. */
  want(from: number, to: number): void {
    this.#wanted = [from, Math.max(from + 1, to)];
    this.#load();
  }

  row(index: number): FunctionRow | null {
    const columns = this.#blocks.get(Math.floor(index / BLOCK));
    const at = index % BLOCK;
    return columns && at < columns.functionId.length ? { columns, index: at } : null;
  }

  /** Where a function is, if its row is loaded; else -1. */
  indexOf(functionId: number): number {
    for (const [block, columns] of this.#blocks) {
      const at = columns.functionId.indexOf(functionId);
      if (at >= 0) {
        return block * BLOCK + at;
      }
    }
    return -1;
  }

  #load(): void {
    const of = this.#question;
    if (!of) {
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
    const begin = missing[0];
    const end = missing.at(-1);
    if (begin !== undefined && end !== undefined) {
      this.#rows.ask({ of, from: begin * BLOCK, to: (end + 1) * BLOCK });
    }
  }

  #deliver(rows: FunctionRows, { of, from }: BlocksQuestion): void {
    if (of !== this.#question) {
      return;
    }
    if (of !== this.#answered) {
      this.#blocks.clear();
      this.#answered = of;
    }
    for (let at = 0; at < rows.functionId.length; at += BLOCK) {
      this.#blocks.set((from + at) / BLOCK, part(rows, at, at + BLOCK));
    }
    for (const block of this.#blocks.keys()) {
      if (this.#blocks.size <= MOST_BLOCKS) {
        break;
      }
      this.#blocks.delete(block);
    }
    batch(() => {
      this.failure.value = null;
      this.count.value = rows.totalCount;
      this.arrivals.value = this.arrivals.peek() + 1;
    });
  }

  async #askBases({ session, query, groupBy }: FunctionsQuestion): Promise<void> {
    try {
      const [all, first] = await Promise.all([
        session.call("callNodeDetail", { query, callNode: ALL }),
        session.call("functions", { query, order: { key: "self", descending: true }, groupBy, from: 0, to: 1 }),
      ]);
      if (this.#question?.query === query) {
        batch(() => {
          this.whole.value = all?.totalWeight ?? 0;
          this.largestSelf.value = first.self[0] ?? 0;
        });
      }
    } catch {
      // The rows' own question fails too, and says why.
    }
  }
}

function part(rows: FunctionRows, from: number, to: number): FunctionRows {
  return {
    totalCount: rows.totalCount,
    functionId: rows.functionId.subarray(from, to),
    heaviest: rows.heaviest.subarray(from, to),
    self: rows.self.subarray(from, to),
    total: rows.total.subarray(from, to),
    kind: rows.kind.subarray(from, to),
    flags: rows.flags.subarray(from, to),
    names: rows.names.slice(from, to),
    dsos: rows.dsos.slice(from, to),
  };
}

/** The one functions table of the page. */
export const functionsTable = new FunctionsModel();
