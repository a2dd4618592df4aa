// What is shown of the profile: the event, and how many samples of how many.

import type { JSX } from "preact";
import { event } from "../state/app.ts";
import { count } from "../state/format.ts";
import { EventMenu } from "./EventMenu.tsx";

export function ContextBar(): JSX.Element {
  // Nothing filters yet: what is shown is the whole event.
  const all = event.value?.samples ?? 0;
  return (
    <div class="context-bar">
      <EventMenu />
      <p class="showing" aria-live="polite">
        Showing <strong>{count(all)}</strong> of {count(all)} samples
      </p>
    </div>
  );
}
