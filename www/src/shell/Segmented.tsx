// One of a few choices, side by side.

import type { Signal } from "@preact/signals";
import type { JSX } from "preact";

export interface ChoiceProps<T extends string | number> {
  label: string;
  /** What it is, its words, and why it cannot be had now. */
  choices: readonly (readonly [value: T, words: string, why?: string | undefined])[];
  /** Either the signal that keeps it, or what it is and what becomes of another one. */
  choice?: Signal<T>;
  value?: T;
  onChoose?: (value: T) => void;
}

export function Segmented<T extends string | number>({ label, choices, choice, value, onChoose }: ChoiceProps<T>): JSX.Element {
  const present = choice?.value ?? value;
  return (
    <span class="segmented" role="group" aria-label={label}>
      {choices.map(([each, words, why]) => (
        <button
          key={each}
          type="button"
          aria-pressed={each === present}
          disabled={why !== undefined}
          title={why}
          onClick={() => {
            onChoose?.(each);
            if (choice) {
              choice.value = each;
            }
          }}
        >
          {words}
        </button>
      ))}
    </span>
  );
}
