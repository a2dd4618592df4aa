// The options of the view that is shown, at the right of the tabs: what is changed often stands there, the rest is in
// the menu behind the dots.

import type { ComponentChildren, JSX } from "preact";
import { Popover } from "../shell/Popover.tsx";
import type { ChoiceProps } from "../shell/Segmented.tsx";
import { Segmented } from "../shell/Segmented.tsx";
import { groupBy, hasAccesses, query, shownGroup, view } from "../state/app.ts";
import { step } from "../state/history.ts";
import type { DataGroup, FunctionGroup } from "../state/url.ts";
import { isOfData } from "../state/url.ts";
import { COLOURS, colourBy, FIRST_LEVEL, INLINES, ROOTS, ROW_HEIGHTS, rootAt, rowHeight, UNNAMED } from "./options.ts";
import { setDirection, setGroup, setInlines, setUnnamed } from "./query_steps.ts";
import { base, BYTES, codeBytes, panes, SYNTAXES, syntax } from "./source/state.ts";
import { expandHottestPath } from "./rows/tree_model.ts";

export function ViewOptions(): JSX.Element | null {
  switch (view.value) {
    case "time-order":
      return (
        <div class="view-options">
          <Colour />
          <More parts={["graph", "inlines"]} />
        </div>
      );
    case "flame":
      return (
        <div class="view-options">
          <Direction />
          <Colour />
          <More parts={["tree", "graph", "inlines"]} />
        </div>
      );
    case "tree":
      return (
        <div class="view-options">
          <Direction />
          <button type="button" onClick={expandHottestPath}>
            Expand hottest path
          </button>
          <More parts={["tree", "inlines"]} />
        </div>
      );
    case "functions":
      return (
        <div class="view-options">
          <Grouping />
          {isOfData(shownGroup.value) ? <DataBy value={shownGroup.value} /> : <Inlines />}
          {shownGroup.value === "function" && <More parts={[]} />}
        </div>
      );
    case "source":
      return <SourceOptions />;
    default:
      return null;
  }
}

function SourceOptions(): JSX.Element {
  return (
    <div class="view-options">
      <Choice
        label="Percent of"
        choice={base}
        choices={[
          ["function", "function"],
          ["shown", "what is shown"],
        ]}
      />
      <Segmented
        label="Panes"
        value={panes.value}
        choices={[
          ["source", "Source"],
          ["both", "Both"],
          ["assembly", "Assembly"],
        ]}
        onChoose={(chosen) => {
          panes.value = chosen;
        }}
      />
      <MoreMenu>
        <Choice label="Syntax of x86" choice={syntax} choices={SYNTAXES} />
        <Choice label="Bytes of instructions" choice={codeBytes} choices={BYTES} />
      </MoreMenu>
    </div>
  );
}

function Direction(): JSX.Element {
  return (
    <Segmented
      label="Direction"
      value={query.value.direction}
      choices={[
        ["callees", "Callees"],
        ["inverted", "Inverted"],
      ]}
      onChoose={setDirection}
    />
  );
}

function Grouping(): JSX.Element {
  return (
    <Segmented<FunctionGroup>
      label="Group by"
      value={isOfData(shownGroup.value) ? "object" : shownGroup.value}
      choices={[
        ["function", "Functions"],
        ["file", "Source files"],
        ["dso", "DSOs"],
        ["thread", "Threads"],
        ...(hasAccesses.value ? [["object", "Data"] as const] : []),
      ]}
      onChoose={(group) => step(() => groupBy(group))}
    />
  );
}

/** What accesses are told apart by. */
function DataBy({ value }: { value: DataGroup }): JSX.Element {
  return (
    <Choice<DataGroup>
      label="By"
      value={value}
      choices={[
        ["object", "object"],
        ["level", "level"],
        ["snoop", "snoop"],
        ["tlb", "TLB"],
        ["locked", "locked"],
      ]}
      onChoose={(group) => step(() => groupBy(group))}
    />
  );
}

function Colour(): JSX.Element {
  return <Choice label="Colour" choice={colourBy} choices={COLOURS} />;
}

function Inlines(): JSX.Element {
  return <Choice label="Inlines" value={query.value.inlines} choices={INLINES} onChoose={setInlines} />;
}

function Unnamed(): JSX.Element {
  return <Choice label="Unnamed code" value={query.value.unnamed} choices={UNNAMED} onChoose={setUnnamed} />;
}

type Part = "tree" | "graph" | "inlines";

function More({ parts }: { parts: readonly Part[] }): JSX.Element {
  return (
    <MoreMenu>
      {parts.includes("tree") && (
        <Choice label="First level" value={query.value.group} choices={FIRST_LEVEL} onChoose={setGroup} />
      )}
      {parts.includes("inlines") && <Inlines />}
      <Unnamed />
      {parts.includes("graph") && (
        <>
          <Choice label="Root" choice={rootAt} choices={ROOTS} />
          <Choice label="Row height" choice={rowHeight} choices={ROW_HEIGHTS} />
        </>
      )}
    </MoreMenu>
  );
}

function MoreMenu({ children }: { children: ComponentChildren }): JSX.Element {
  return (
    <Popover label={<span aria-hidden="true">⋯</span>} name="More options" buttonClass="quiet icon-only" panelClass="option-list">
      {() => children}
    </Popover>
  );
}

export function Choice<T extends string>({ label, choices, choice, value, onChoose }: ChoiceProps<T>): JSX.Element {
  return (
    <label class="choice">
      <span>{label}</span>
      <select
        value={choice?.value ?? value}
        onChange={(event) => {
          const chosen = choices.find(([each]) => each === event.currentTarget.value);
          if (chosen) {
            onChoose?.(chosen[0]);
            if (choice) {
              choice.value = chosen[0];
            }
          }
        }}
      >
        {choices.map(([each, words]) => (
          <option key={each} value={each}>
            {words}
          </option>
        ))}
      </select>
    </label>
  );
}
