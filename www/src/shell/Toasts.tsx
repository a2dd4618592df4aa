// Toasts, and the one live region that speaks for the page.

import type { JSX } from "preact";
import { dismissToast, spoken, toasts } from "../state/toasts.ts";
import { Icon } from "./icons.tsx";

export function Toasts(): JSX.Element {
  return (
    <div class="toasts">
      {toasts.value.map(({ id, tone, text, action }) => (
        <div key={id} class={`toast toast-${tone}`}>
          <span>{text}</span>
          {action !== undefined && (
            <button
              type="button"
              class="link"
              onClick={() => {
                action.run();
                dismissToast(id);
              }}
            >
              {action.label}
            </button>
          )}
          <button type="button" class="quiet icon-only" aria-label="Dismiss" onClick={() => dismissToast(id)}>
            <Icon name="close" size={12} />
          </button>
        </div>
      ))}
    </div>
  );
}

export function Speech(): JSX.Element {
  const { id, text } = spoken.value;
  return (
    <div class="visually-hidden" role="status" aria-live="polite">
      {/* Words are read when something is added: the same words again are another element. */}
      <span key={id}>{text}</span>
    </div>
  );
}
