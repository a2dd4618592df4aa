// The chips of the context bar: as many as fit, then "+3", whose list has the rest.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { compareWithRest } from "../compare/state.ts";
import type { RemovedSamples } from "../session/types.ts";
import { query } from "../state/app.ts";
import { countSamples, percent } from "../state/format.ts";
import { notCalled, removedBy, shown } from "../state/shown.ts";
import { narrow } from "../state/width.ts";
import { clearFilters, setRange } from "../views/query_steps.ts";
import { share } from "../views/words.ts";
import type { Chip } from "./chips.ts";
import { chipsOf } from "./chips.ts";
import { Icon } from "./icons.tsx";
import { MenuItem, Popover } from "./Popover.tsx";

/** How many chips have room; null until they were measured. */
const room = signal<number | null>(null);
const MORE_PX = 52;

export function Chips(): JSX.Element {
  const row = useRef<HTMLDivElement>(null);
  const chips = chipsOf(query.value);
  const names = chips.map(({ word, text }) => `${word} ${text}`).join("\n");
  useLayoutEffect(() => {
    // The row is as wide as what it shows; what it could take is its parent's.
    const element = row.current?.parentElement;
    if (!element) {
      return;
    }
    // Another width: all are laid out again, measured, and those without room taken away before anything is painted.
    const again = new ResizeObserver(() => {
      room.value = null;
    });
    again.observe(element);
    return () => again.disconnect();
  }, []);
  useLayoutEffect(() => {
    room.value = null;
  }, [names]);
  useLayoutEffect(() => {
    if (room.value === null && row.current !== null) {
      room.value = narrow.value ? chips.length : measure(row.current, chips.length);
    }
  });
  const fit = room.value ?? chips.length;
  const rest = chips.slice(fit);
  return (
    <div class="chips" ref={row} role="group" aria-label="Filters and transforms, in the order they apply">
      {chips.slice(0, fit).map((chip) => (
        <OneChip key={chip.key} chip={chip} />
      ))}
      {rest.length > 0 && <MoreChips chips={rest} />}
    </div>
  );
}

/** How many of the chips end before the row does; null while not all of them are laid out. */
function measure(row: HTMLElement, number: number): number | null {
  const elements = [...row.querySelectorAll<HTMLElement>(":scope > .filter-chip")];
  if (elements.length < number) {
    return null;
  }
  const end = row.getBoundingClientRect().right;
  const fits = (element: HTMLElement, limit: number): boolean => element.getBoundingClientRect().right <= limit;
  if (elements.every((element) => fits(element, end))) {
    return number;
  }
  return elements.filter((element) => fits(element, end - MORE_PX)).length;
}

function OneChip({ chip }: { chip: Chip }): JSX.Element {
  const removed = chip.what === null ? null : removedBy(chip.what);
  const effect = effectWords(removed);
  const isInert = removed?.effect === "none";
  const name = [chip.word, chip.text].filter(Boolean).join(" ");
  return (
    <span class={`filter-chip filter-chip-${chip.look}${isInert ? " chip-inert" : ""}`} title={`${name}: ${effect}`}>
      <Popover
        label={
          <>
            <span class="chip-kind">{chip.word}</span> {chip.text !== "" && <span class="chip-text">{chip.text}</span>}
          </>
        }
        name={`${name}, ${effect}`}
        buttonClass="chip-main"
        panelClass="menu"
      >
        {(close) => <ChipMenu chip={chip} effect={effect} close={close} />}
      </Popover>
      <button type="button" class="icon-only chip-close" aria-label={`Remove ${name}`} onClick={chip.remove}>
        <Icon name="close" size={12} />
      </button>
    </span>
  );
}

/** "removes 4.1 %, 12 samples", and why it may be all or nothing. */
function effectWords(removed: RemovedSamples | null): string {
  if (removed === null) {
    return "counting…";
  }
  const why = notCalled(removed.what);
  return why === null ? amountWords(removed) : `${amountWords(removed)}: ${why}`;
}

function amountWords(removed: RemovedSamples): string {
  if (removed.effect === "none") {
    return "has no effect here";
  }
  const { samples } = removed;
  const part = percent(share(samples, shown.value?.answer.allSamples ?? 0));
  return samples === 0 ? "removes no samples" : `removes ${part}, ${countSamples(samples)}`;
}

function ChipMenu({ chip, effect, close }: { chip: Chip; effect: string; close: () => void }): JSX.Element {
  const { range } = query.value;
  const isOnly = chipsOf(query.value).length === 1;
  return (
    <>
      <p class="menu-head">{`${chip.word} ${chip.text} ${effect}`.replace(/\s+/g, " ")}</p>
      <MenuItem close={close} onChoose={chip.remove}>
        Remove
      </MenuItem>
      {chip.key === "range" && range !== null && (
        <MenuItem close={close} onChoose={() => setRange({ ...range, side: range.side === "inside" ? "outside" : "inside" })}>
          {range.side === "inside" ? "Show everything outside the range" : "Show only this range"}
        </MenuItem>
      )}
      {chip.key === "range" && (
        <MenuItem close={close} onChoose={compareWithRest}>
          Compare with the rest
        </MenuItem>
      )}
      {!isOnly && (
        <MenuItem close={close} onChoose={clearFilters}>
          Clear all
        </MenuItem>
      )}
    </>
  );
}

function MoreChips({ chips }: { chips: readonly Chip[] }): JSX.Element {
  return (
    <Popover label={`+${chips.length}`} name={`${chips.length} more filters`} buttonClass="chip" panelClass="menu">
      {() =>
        chips.map((chip) => (
          <p key={chip.key} class="menu-row">
            <OneChip chip={chip} />
          </p>
        ))
      }
    </Popover>
  );
}
