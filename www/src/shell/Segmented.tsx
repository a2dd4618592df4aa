// One of a few choices, side by side.

import type { Signal } from "@preact/signals";
import type { JSX } from "preact";

interface SegmentedProps<T extends string> {
  label: string;
  value: Signal<T>;
  choices: readonly { value: T; label: string }[];
}

export function Segmented<T extends string>({ label, value, choices }: SegmentedProps<T>): JSX.Element {
  return (
    <span class="segmented" role="group" aria-label={label}>
      {choices.map((choice) => (
        <button
          key={choice.value}
          type="button"
          aria-pressed={value.value === choice.value}
          onClick={() => {
            value.value = choice.value;
          }}
        >
          {choice.label}
        </button>
      ))}
    </span>
  );
}
