// The call tree as rows: total, self, call node, DSO.

import type { JSX } from "preact";
import { query, selection } from "../state/app.ts";
import { count } from "../state/format.ts";
import { noSamples } from "./empty.ts";
import { EmptyView } from "./empty_view.tsx";
import { callTree } from "./rows/tree_model.ts";
import { TreeTable } from "./rows/tree_table.tsx";

export function CallTreeView(): JSX.Element {
  const failure = callTree.failure.value;
  return (
    <section class="table-view call-tree" aria-label="Call tree">
      <EmptyView words={failure === null ? noSamples() : { text: failure, event: null }} />
      <TreeTable
        model={callTree}
        query={query}
        selection={selection}
        label={query.value.direction === "callees" ? "Call tree" : "Call tree, inverted"}
        shape="table"
      />
      {callTree.left.value > 0 && (
        <p class="table-foot">{`${count(callTree.left.value)} lighter callees are not listed. Focus or search to see them.`}</p>
      )}
    </section>
  );
}
