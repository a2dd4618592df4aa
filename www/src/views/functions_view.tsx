// Functions at the left, and at the right the selected one between its callers and its callees.

import type { JSX } from "preact";
import { Splitter } from "../shell/Splitter.tsx";
import { session, shownGroup } from "../state/app.ts";
import { isOfData } from "../state/url.ts";
import { DataTable } from "./data_table.tsx";
import { chosenRow, FunctionsTable } from "./functions_table.tsx";
import { KeptWidth } from "./kept_width.ts";
import { setDsos, setThreads } from "./query_steps.ts";
import { Sandwich } from "./sandwich/sandwich_view.tsx";

/** The table's; the style sheet leaves the other half what it needs. */
const width = new KeptWidth("functionsWidth", { least: 320, usual: 640, most: 1200 });

export function FunctionsView(): JSX.Element {
  const group = shownGroup.value;
  if (isOfData(group)) {
    return (
      <div class="functions-view">
        <div class="functions-side functions-alone">
          <DataTable key={group} group={group} />
        </div>
      </div>
    );
  }
  return (
    <div class="functions-view">
      <div class="functions-side" style={{ flexBasis: `${width.value}px` }}>
        <FunctionsTable key={group} group={group} />
        <Splitter
          label="Width of the functions"
          edge="right"
          size={width.size}
          least={width.least}
          most={width.most}
          onResize={width.onResize}
        />
      </div>
      {group === "function" ? <Sandwich /> : <NoCallersNotice />}
    </div>
  );
}

/** What is no function has no callers; it can be all that is shown. */
function NoCallersNotice(): JSX.Element {
  const chosen = chosenRow.value?.group === shownGroup.value ? chosenRow.value : null;
  return (
    <section class="sandwich sandwich-empty" aria-label="Selected row">
      <p class="view-empty" role="status">
        {chosen === null ? "Select a row." : `${chosen.name} is selected. Only functions have callers and callees.`}{" "}
        {chosen?.group === "dso" && (
          <button type="button" onClick={() => void onlyDso(chosen.id)}>
            Show only samples that end in it
          </button>
        )}
        {chosen?.group === "thread" && (
          <button type="button" onClick={() => setThreads([chosen.id])}>
            Show only this thread
          </button>
        )}
      </p>
    </section>
  );
}

async function onlyDso(dso: number): Promise<void> {
  const reference = await session.peek()?.call("dsoRef", { dso });
  if (reference) {
    setDsos([reference]);
  }
}
