// What the timeline can show: tracks of what, in which order, and those that were hidden.

import type { JSX } from "preact";
import { Icon } from "../shell/icons.tsx";
import { MenuItem, Popover } from "../shell/Popover.tsx";
import type { ChoiceProps } from "../shell/Segmented.tsx";
import { Segmented } from "../shell/Segmented.tsx";
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
          <Choices label="Sort by" choice={trackOrder} choices={ORDERS} />
          {row && (
            <MenuItem close={close} onChoose={() => model.hide(row)}>
              Hide {row.label} <kbd>Delete</kbd>
            </MenuItem>
          )}
          {hidden.length > 1 && (
            <MenuItem close={close} onChoose={() => show(hidden.map(([key]) => key))}>
              Show all {hidden.length} hidden tracks
            </MenuItem>
          )}
          {hidden.map(([key, label]) => (
            <MenuItem close={close} key={key} onChoose={() => show([key])}>
              Show {label}
            </MenuItem>
          ))}
          <MenuItem close={close} onChoose={() => onCollapse()}>
            Collapse the timeline
          </MenuItem>
        </>
      )}
    </Popover>
  );
}

function Choices<T extends string>(props: ChoiceProps<T>): JSX.Element {
  return (
    <div class="menu-row">
      <span>{props.label}</span> <Segmented {...props} />
    </div>
  );
}
