// What the functions table asks the session, and the weights that its shares and bars are of.

import { computed } from "@preact/signals";
import type { Session } from "../../session/client.ts";
import type { FunctionOrder, FunctionRows, FunctionsOrder, Query } from "../../session/types.ts";
import type { CodeGroup } from "../../state/url.ts";
import type { LoadedRow } from "./loaded_rows.ts";
import { LoadedRows } from "./loaded_rows.ts";

export interface FunctionsQuestion {
  session: Session;
  query: Query;
  order: FunctionsOrder;
  groupBy: CodeGroup;
  /** `namesGeneration`. */
  names: number;
}

export type FunctionRow = LoadedRow<FunctionRows>;

export class FunctionsModel extends LoadedRows<FunctionsQuestion, FunctionRows> {
  /** The weight that shares are of, and the largest self weight, which has the longest bar. */
  readonly whole = computed(() => this.newest.value?.allTotal ?? 0);
  readonly unnamed = computed(() => this.newest.value?.unnamed ?? 0);
  readonly largestSelf = computed(() => this.newest.value?.largestSelf ?? 0);

  constructor() {
    super(({ session, query, order, groupBy }, from, to, options) =>
      session.call("functions", { query, order: sessionsOrder(order), groupBy, from, to }, options),
    );
  }

  /** Begins anew if the question is another one: the table asks again whenever it comes into sight. */
  override ask(question: FunctionsQuestion): void {
    const former = this.question;
    const isOther =
      former === null ||
      former.session !== question.session ||
      former.query !== question.query ||
      former.order !== question.order ||
      former.groupBy !== question.groupBy ||
      former.names !== question.names;
    if (isOther) {
      super.ask(question);
    }
  }
}

export function sessionsOrder({ key, descending }: FunctionsOrder): Required<FunctionOrder> {
  return { key, direction: descending ? "descending" : "ascending" };
}

/** The one functions table of the page. */
export const functionsTable = new FunctionsModel();
