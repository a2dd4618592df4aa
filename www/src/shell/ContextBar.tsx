// What is shown of the profile: the event, processes and CPUs, then everything that filters or transforms, and how many
// samples of how many that leaves.

import type { JSX } from "preact";
import { event, isGrowing, query, shownShare } from "../state/app.ts";
import { count, countSamples, percent } from "../state/format.ts";
import { shown } from "../state/shown.ts";
import { canUndoFilters, undoFilters } from "../views/query_steps.ts";
import { idle, idleWord, setIdle } from "../views/idle.ts";
import { share } from "../views/words.ts";
import { Chips } from "./Chips.tsx";
import { chipsOf } from "./chips.ts";
import { EventMenu } from "./EventMenu.tsx";
import { Icon } from "./icons.tsx";
import { CpusMenu, ProcessesMenu } from "./TaskMenus.tsx";

const IDLE_TITLE =
  "Leave out CPUs that have nothing to do, and threads that wait for something to do. Remembered for the next recordings.";

export function ContextBar(): JSX.Element {
  const isFiltered = chipsOf(query.value).length > 0;
  return (
    <div class="context-bar">
      <EventMenu />
      <ProcessesMenu />
      <CpusMenu />
      {idleWord.value !== null && idle.value === "shown" && (
        <button type="button" class="chip" title={IDLE_TITLE} onClick={() => setIdle("hidden")}>
          Hide {idleWord.value.toLowerCase()}
        </button>
      )}
      {isFiltered && <span class="context-divider" aria-hidden="true" />}
      <span class="filters">
        <Chips />
        {(isFiltered || canUndoFilters.value) && (
          <button
            type="button"
            class="quiet undo-button"
            disabled={!canUndoFilters.value}
            aria-label="Undo"
            title="Undo the last change of filters and transforms"
            onClick={undoFilters}
          >
            <Icon name="back" size={14} /> <span class="undo-words">Undo</span>
          </button>
        )}
      </span>
      <SoFar />
      <ShownSummary />
    </div>
  );
}

/** While more is being read: how much of the recording is shown. The status bar cancels that. */
function SoFar(): JSX.Element | null {
  return isGrowing.value ? (
    <span class="so-far" title="The rest is still being read. You can use what is here already.">
      So far {Math.floor(100 * shownShare.value)} %
    </span>
  ) : null;
}

/** Stays as it was until the session has counted, so that it changes, and is spoken, once a step. */
function ShownSummary(): JSX.Element {
  const all = event.value?.samples ?? 0;
  const part = event.value?.part_of;
  const { samples, allSamples } = shown.value?.answer ?? { samples: all, allSamples: all };
  return (
    <p class="showing" aria-live={isGrowing.value ? "off" : "polite"}>
      Showing <strong>{count(samples)}</strong> of {countSamples(allSamples)}, {percent(share(samples, allSamples))}
      {part != null && (
        <span class="ink-mute" title="The sender had filtered the profile. The rest of it is not in this link or page.">
          {" "}
          · part of a recording with {count(part.samples)}
        </span>
      )}
    </p>
  );
}
