// What the timeline can show: tracks of what, in which order, and those that were hidden.

import type { JSX } from "preact";
import { Icon } from "../shell/icons.tsx";
import { Popover } from "../shell/Popover.tsx";
import type { TrackBy, TrackSort } from "../session/types.ts";
import type { TimelineModel } from "./model.ts";
import { hiddenTracks, setTrackKind, trackKind, trackKinds, trackOrder } from "./state.ts";

const KINDS: Record<TrackBy, string> = { process: "Process", thread: "Thread", cpu: "CPU" };
const ORDERS: readonly (readonly [TrackSort, string])[] = [
  ["weight", "Weight"],
  ["start", "Start"],
];

export function TimelineMenu({ model, onCollapse }: { model: TimelineModel; onCollapse: () => void }): JSX.Element {
  const row = model.rows.value[model.activeRow.value];
  const hidden = [...hiddenTracks.value];
  const show = (keys: readonly string[]): void => {
    hiddenTracks.value = new Map(hidden.filter(([key]) => !keys.includes(key)));
  };
  return (
    <Popover
      label={<Icon name="more" size={14} />}
      name="Timeline options"
      buttonClass="quiet icon-only"
      panelClass="menu timeline-menu"
    >
      {(close) => (
        <>
          {trackKinds.value.length > 1 && (
            <Choices
              label="Group by"
              value={trackKind.value}
              choices={trackKinds.value.map((kind) => [kind, KINDS[kind]] as const)}
              onChoose={setTrackKind}
            />
          )}
          <Choices
            label="Sort by"
            value={trackOrder.value}
            choices={ORDERS}
            onChoose={(order) => {
              trackOrder.value = order;
            }}
          />
          {row && (
            <button
              type="button"
              class="menu-item"
              onClick={() => {
                close();
                model.hide(row);
              }}
            >
              Hide {row.label} <kbd>Delete</kbd>
            </button>
          )}
          {hidden.length > 1 && (
            <button
              type="button"
              class="menu-item"
              onClick={() => {
                close();
                show(hidden.map(([key]) => key));
              }}
            >
              Show all {hidden.length} hidden tracks
            </button>
          )}
          {hidden.map(([key, label]) => (
            <button
              key={key}
              type="button"
              class="menu-item"
              onClick={() => {
                close();
                show([key]);
              }}
            >
              Show {label}
            </button>
          ))}
          <button
            type="button"
            class="menu-item"
            onClick={() => {
              close();
              onCollapse();
            }}
          >
            Collapse the timeline
          </button>
        </>
      )}
    </Popover>
  );
}

interface ChoicesProps<T extends string> {
  label: string;
  value: T;
  choices: readonly (readonly [T, string])[];
  onChoose: (value: T) => void;
}

function Choices<T extends string>({ label, value, choices, onChoose }: ChoicesProps<T>): JSX.Element {
  return (
    <div class="menu-row">
      <span>{label}</span>
      <span class="segmented" role="group" aria-label={label}>
        {choices.map(([each, words]) => (
          <button key={each} type="button" aria-pressed={each === value} onClick={() => onChoose(each)}>
            {words}
          </button>
        ))}
      </span>
    </div>
  );
}
