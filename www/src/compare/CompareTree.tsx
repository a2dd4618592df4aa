// The call tree of both profiles as rows: under each caller those callees first that have most weight on both sides.

import type { JSX } from "preact";
import type { Session } from "../session/client.ts";
import type { ComparedTreeRows, CompareRequest } from "../session/types.ts";
import { event, namesGeneration, session } from "../state/app.ts";
import { count } from "../state/format.ts";
import { TreeGrid } from "../views/rows/tree_grid.tsx";
import type { TreeSource } from "../views/rows/tree_model.ts";
import { TreeModel } from "../views/rows/tree_model.ts";
import { idAt } from "../views/words.ts";
import { ChangeCells, ChangeHeads, OnlyTag } from "./ChangeCells.tsx";
import { comparedSelection, compareView, request } from "./state.ts";

const ROW_HEIGHT = 22;
const NAME_WIDTH = 220;

/** What is open stays open while the other views are shown. */
export const comparedTree = new TreeModel<ComparedTreeRows>(comparedSelection);

/** Selects the heaviest call of the function whose own code changed most; the path to it opens. */
export function showLargestChange(): void {
  const [asking, asked] = [session.peek(), request.peek()];
  if (asking === null || asked === null) {
    return;
  }
  const rows = { key: "self", order: "either", from: 0, to: 1 } as const;
  asking.call("comparedChanges", { request: asked, view: compareView.peek(), rows }).then(
    ({ heaviest, functionId }) => {
      const callNode = idAt(heaviest, 0);
      if (callNode !== null && request.peek() === asked) {
        comparedSelection.value = { callNode, functionId: idAt(functionId, 0) };
      }
    },
    () => {
      // Cancelled, or the worker died and says so itself.
    },
  );
}

export function CompareTree(): JSX.Element {
  const left = comparedTree.left.value;
  const largest = comparedTree.whole.value;
  const unit = event.value?.name ?? "";
  const { basis } = compareView.value;
  return (
    <section class="table-view compare-tree" aria-label="Call tree of both profiles">
      {comparedTree.failure.value !== null && (
        <p class="view-empty" role="status">
          {comparedTree.failure.value}
        </p>
      )}
      <TreeGrid
        model={comparedTree}
        source={source}
        selection={comparedSelection}
        label="Call tree of both profiles"
        columns="compared"
        rowHeight={ROW_HEIGHT}
        nameWidth={NAME_WIDTH}
        head={<ChangeHeads name="Call node" />}
        cells={({ columns, index }, name) => (
          <ChangeCells columns={columns} at={index} largest={largest} basis={basis} unit={unit} name={name} />
        )}
        behindName={({ columns, index }) => <OnlyTag presence={columns.presence[index] as number} />}
      />
      {left > 0 && <p class="table-foot">{`${count(left)} lighter callees are not listed.`}</p>}
    </section>
  );
}

function source(): TreeSource<ComparedTreeRows> | null {
  const [asking, asked, view, names] = [session.value, request.value, compareView.value, namesGeneration.value];
  return asking === null || asked === null ? null : treeOfBoth(asking, asked, view, names);
}

function treeOfBoth(
  asking: Session,
  asked: CompareRequest,
  view: typeof compareView.value,
  names: number,
): TreeSource<ComparedTreeRows> {
  const question = { request: asked, view };
  const none = { key: "total", order: "either", from: 0, to: 0 } as const;
  return {
    of: [asking, asked, view.basis, names],
    children: (callNode, most, options) => asking.call("comparedChildren", { ...question, callNode, most }, options),
    above: async (callNode, options) => {
      const detail = await asking.call("comparedDetail", { ...question, callNode }, options);
      return detail?.path.slice(1, -1).map((each) => each.callNode) ?? [];
    },
    whole: async (options) => (await asking.call("comparedChanges", { ...question, rows: none }, options)).largest,
  };
}
