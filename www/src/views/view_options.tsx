// The options of the view that is shown, at the right of the tabs.

import type { JSX } from "preact";
import { ALL } from "../session/types.ts";
import { query, selection, view } from "../state/app.ts";
import { setDirection, setGroup, setInlines } from "./query_steps.ts";
import { callTree } from "./rows/tree_model.ts";

export function ViewOptions(): JSX.Element {
  const asked = query.value;
  const tree = (
    <Segmented
      label="Direction"
      value={asked.direction}
      choices={[["callees", "Callees"], ["inverted", "Inverted"]]}
      onChoose={setDirection}
    />
  );
  const group = (
    <Choice
      label="First level"
      value={asked.group}
      choices={[["process", "process"], ["thread", "thread"], ["none", "none"]]}
      onChoose={setGroup}
    />
  );
  const inlines = (
    <Choice
      label="Inlines"
      value={asked.inlines}
      choices={[["shown", "shown"], ["merged", "merged"]]}
      onChoose={setInlines}
    />
  );
  switch (view.value) {
    case "time-order":
    case "heat-map":
    case "flame":
      return <div class="view-options">{tree}{group}{inlines}</div>;
    case "tree":
      return (
        <div class="view-options">
          {tree}{group}{inlines}
          <button
            type="button"
                       onClick={() => void callTree.openHottestPath(selection.peek()?.callNode ?? ALL)}
          >
            Expand hottest path
          </button>
        </div>
      );
    case "functions":
      return <div class="view-options">{inlines}</div>;
  }
}

interface ChoiceProps<T extends string> {
  label: string;
  value: T;
  choices: readonly (readonly [T, string])[];
  onChoose: (value: T) => void;
}

/** A few choices side by side, one of them on. */
function Segmented<T extends string>({ label, value, choices, onChoose }: ChoiceProps<T>): JSX.Element {
  return (
    <div class="segmented" role="group" aria-label={label}>
      {choices.map(([each, words]) => (
        <button key={each} type="button" aria-pressed={each === value} onClick={() => onChoose(each)}>
          {words}
        </button>
      ))}
    </div>
  );
}

function Choice<T extends string>({ label, value, choices, onChoose }: ChoiceProps<T>): JSX.Element {
  return (
    <label class="choice">
      <span>{label}</span>
      <select
        value={value}
        onChange={(event) => {
          const chosen = choices.find(([each]) => each === event.currentTarget.value);
          if (chosen) {
            onChoose(chosen[0]);
          }
        }}
      >
        {choices.map(([each, words]) => <option key={each} value={each}>{words}</option>)}
      </select>
    </label>
  );
}
