// What the table of changes asks the session.

import type { Session } from "../session/client.ts";
import type { ChangeRows, CompareRequest } from "../session/types.ts";
import type { ComparisonState } from "../state/url.ts";
import type { LoadedRow } from "../views/rows/loaded_rows.ts";
import { LoadedRows } from "../views/rows/loaded_rows.ts";
import type { ChangeKey, ChangeOrder } from "./state.ts";

export interface ChangesQuestion {
  session: Session;
  request: CompareRequest;
  view: Pick<ComparisonState, "basis" | "width">;
  key: ChangeKey;
  order: ChangeOrder;
  /** `namesGeneration`. */
  names: number;
}

export type ChangeRow = LoadedRow<ChangeRows>;

export class ChangesModel extends LoadedRows<ChangesQuestion, ChangeRows> {
  constructor() {
    super(({ session, request, view, key, order }, from, to, options) =>
      session.call("comparedChanges", { request, view, rows: { key, order, from, to } }, options),
    );
  }
}
