// What the functions table asks the session, and the weights that its shares and bars are of.

import { batch, signal } from "@preact/signals";
import type { Session } from "../../session/client.ts";
import type { FunctionRows, FunctionsOrder, Query } from "../../session/types.ts";
import { ALL } from "../../session/types.ts";
import type { FunctionGroup } from "../../state/url.ts";
import type { LoadedRow } from "./loaded_rows.ts";
import { LoadedRows } from "./loaded_rows.ts";

export interface FunctionsQuestion {
  session: Session;
  query: Query;
  order: FunctionsOrder;
  groupBy: FunctionGroup;
  /** `namesGeneration`. */
  names: number;
}

export type FunctionRow = LoadedRow<FunctionRows>;

export class FunctionsModel extends LoadedRows<FunctionsQuestion, FunctionRows> {
  /** The weight that shares are of, and the largest self weight, which has the longest bar. */
  readonly whole = signal(0);
  readonly largestSelf = signal(0);

  constructor() {
    super(({ session, query, order, groupBy }, from, to) => session.call("functions", { query, order, groupBy, from, to }));
  }

  /** Begins anew if the question is another one: the table asks again whenever it comes into sight. */
  override ask(question: FunctionsQuestion): void {
    const former = this.question;
    const isOther =
      former === null ||
      former.session !== question.session ||
      former.query !== question.query ||
      former.groupBy !== question.groupBy ||
      former.names !== question.names;
    if (isOther) {
      void this.#askBases(question);
    }
    if (isOther || former.order !== question.order) {
      super.ask(question);
    }
  }

  async #askBases({ session, query, groupBy }: FunctionsQuestion): Promise<void> {
    try {
      const [all, first] = await Promise.all([
        session.call("callNodeDetail", { query, callNode: ALL }),
        session.call("functions", { query, order: { key: "self", descending: true }, groupBy, from: 0, to: 1 }),
      ]);
      if (this.question?.query === query) {
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

/** The one functions table of the page. */
export const functionsTable = new FunctionsModel();
