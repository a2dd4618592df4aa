// What is idle is hidden with one click, and from then on in the recordings that are opened next, until it is shown again.

import { computed, effect, signal } from "@preact/signals";
import { isDerived, query, zoomRoot } from "../state/app.ts";
import { processNames } from "../state/event_tasks.ts";
import { amendStep } from "../state/history.ts";
import { recall, remember } from "../state/storage.ts";
import { ALL } from "../session/types.ts";
import { keepSelection, setSteps } from "./query_steps.ts";

export const IDLE = [
  ["shown", "shown"],
  ["hidden", "hidden"],
] as const;
type Idle = (typeof IDLE)[number][0];

/** What it is called of the event; null where there is none: neither the kernel's idle process nor waits. */
export const idleWord = computed(() => {
  // Outside of the recorder's PID namespace others have pid 0 as well.
  const hasIdle = processNames.value.get(0)?.startsWith("swapper");
  return isDerived(query.value.event) ? "Waiting" : hasIdle ? "Idle" : null;
});

export const idle = computed<Idle>(() => (query.value.steps.some(({ kind }) => kind === "drop-idle") ? "hidden" : "shown"));

/** As a step that Back takes back; remembered. */
export function setIdle(chosen: Idle): void {
  remember("idle", chosen);
  setSteps(stepsWith(chosen));
}

function stepsWith(chosen: Idle): (typeof query.value)["steps"] {
  const others = query.peek().steps.filter(({ kind }) => kind !== "drop-idle");
  // Other steps may leave nothing of what tells that it is idle.
  return chosen === "hidden" ? [{ kind: "drop-idle" }, ...others] : others;
}

/** Whether what was remembered is still to be applied, once there is something idle: nobody's address said what to show. */
const awaits = signal(false);

/** Another profile is open. */
export function awaitIdle(how: "as remembered" | "as asked"): void {
  awaits.value = how === "as remembered";
}

/** Hides what is idle where that is remembered, as part of the step that showed it. Call once. */
export function followIdle(): void {
  effect(() => {
    if (awaits.value && idleWord.value !== null) {
      awaits.value = false;
      if (recall<Idle>("idle", ["shown", "hidden"], "shown") === "hidden" && idle.peek() === "shown") {
        const steps = stepsWith("hidden");
        keepSelection(() =>
          amendStep(() => {
            query.value = { ...query.peek(), steps };
            zoomRoot.value = ALL;
          }),
        );
      }
    }
  });
}
