// The line that a view shows instead of, or above, its content.

import type { JSX } from "preact";
import type { EmptyWords } from "./empty.ts";
import { setEvent } from "./query_steps.ts";

export function EmptyView({ words }: { words: EmptyWords | null }): JSX.Element | null {
  if (words === null) {
    return null;
  }
  const { event, text, actions = [] } = words;
  return (
    <p class="view-empty" role="status">
      <span>{text}</span>{" "}
      {event === null ? null : (
        <button type="button" onClick={() => setEvent(event.index)}>
          Show {event.name}
        </button>
      )}
      {actions.map(({ label, run }) => (
        <button key={label} type="button" onClick={run}>
          {label}
        </button>
      ))}
    </p>
  );
}
