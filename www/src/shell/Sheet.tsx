// On a phone: selection and DSOs in a sheet at the foot, in three stops. The handle says what is in it: what is selected,
// else how much has names. A tap on it goes to the next stop, a swipe to the one above or below.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { CoverageBar } from "../ledger/CoverageBar.tsx";
import { Ledger } from "../ledger/Ledger.tsx";
import { OrderMenu } from "../ledger/OrderMenu.tsx";
import { STATUS, StatusGlyph } from "../ledger/status.tsx";
import { ledgerNamedPercent, namedCount } from "../ledger/state.ts";
import { ledgerParts } from "../ledger/filtered.ts";
import { ledgerFull, selection } from "../state/app.ts";
import { detail, selectedRow } from "../state/detail.ts";
import { NARROW, percent } from "../state/format.ts";
import { shown } from "../state/shown.ts";
import { ForcedMark } from "../views/forced_name.tsx";
import { Icon } from "./icons.tsx";
import { SelectionActions, SelectionPanel } from "./SelectionPanel.tsx";
import { Network } from "./StatusBar.tsx";

type Stop = "peek" | "half" | "full";
const STOPS: readonly Stop[] = ["peek", "half", "full"];
const stop = signal<Stop>("peek");
/** Source, weights and stack of the selection are asked for: there is room for them where little else is. */
const detailed = signal(false);

/** A move of the finger by this much is a step to the next stop. */
const SWIPE = 40;

function moveSheet(by: number): void {
  const at = STOPS.indexOf(stop.peek());
  stop.value = STOPS[Math.min(STOPS.length - 1, Math.max(0, at + by))] ?? "peek";
}

export function Sheet(): JSX.Element {
  const isOpen = stop.value !== "peek";
  const chosen = selection.value;
  useEffect(() => {
    detailed.value = false;
  }, [chosen]);
  return (
    <aside class={`sheet sheet-${stop.value}`} aria-label="Selection and DSOs">
      <button
        type="button"
        class="sheet-handle"
        aria-expanded={isOpen}
        onClick={(event) => {
          // The click of a key has no pointer that could have swiped.
          if (event.detail === 0 || !swiped) {
            moveSheet(stop.peek() === "full" ? -2 : 1);
          }
        }}
        onPointerDown={swipe}
      >
        <span class="sheet-grip" aria-hidden="true" />
        <span class="visually-hidden">Selection and DSOs: </span>
        {chosen === null ? <NamedSummary /> : <Selected />}
        {!(isOpen && chosen !== null) && <CoverageBar parts={ledgerParts.value} kind="thick" />}
      </button>
      {isOpen && (
        <div class="sheet-body">
          {chosen !== null && <SelectionDetails />}
          <Dsos headed={chosen !== null} />
          <p class="sheet-foot">
            <Network />
          </p>
        </div>
      )}
    </aside>
  );
}

function NamedSummary(): JSX.Element {
  return (
    <span class="sheet-line">
      <strong>DSOs</strong> <span class="ink-mute">{namedCount}</span>
      <strong class="push-right">
        {ledgerNamedPercent.value.toFixed(1)}
        {NARROW}%
      </strong>
    </span>
  );
}

/** Name, DSO with its status, and share. */
function Selected(): JSX.Element {
  const node = detail.value;
  const row = selectedRow.value ?? (node === null ? selection.value?.row : undefined);
  const { name, flags } = row ?? node ?? { name: "", flags: 0 };
  const self = row?.self ?? node?.selfWeight ?? 0;
  const whole = shown.value?.answer.weight ?? 0;
  return (
    <span class="sheet-line">
      <strong>
        <ForcedMark flags={flags} />
        {name}
      </strong>
      {node?.dsoStatus != null && (
        <span class={`sheet-dso ink-${STATUS[node.dsoStatus].tone}`}>
          <StatusGlyph status={node.dsoStatus} size={12} /> {node.dso}
        </span>
      )}
      {whole > 0 && (
        <span class="push-right">
          <strong>{percent(self / whole)}</strong> <span class="ink-mute">self</span>
        </span>
      )}
    </span>
  );
}

function SelectionDetails(): JSX.Element {
  return detailed.value ? (
    <SelectionPanel />
  ) : (
    <div class="sheet-actions">
      <SelectionActions />
      <button
        type="button"
        class="quiet"
        onClick={() => {
          detailed.value = true;
        }}
      >
        Details
      </button>
    </div>
  );
}

function Dsos({ headed }: { headed: boolean }): JSX.Element {
  return (
    <>
      <div class="sheet-dsos">
        {headed && <NamedSummary />}
        {headed && <CoverageBar parts={ledgerParts.value} kind="thick" />}
        <span class="sheet-ledger-actions">
          <OrderMenu />
          <button
            type="button"
            class="quiet push-right"
            onClick={() => {
              ledgerFull.value = true;
            }}
          >
            All DSOs <Icon name="chevron" size={12} />
          </button>
        </span>
      </div>
      <Ledger />
    </>
  );
}

/** Whether the last pointer on the handle has moved the sheet: a browser may send a click after that, or none. */
let swiped = false;

function swipe(event: PointerEvent): void {
  const handle = event.currentTarget as HTMLElement;
  const from = event.clientY;
  const ended = new AbortController();
  swiped = false;
  const up = ({ clientY }: PointerEvent): void => {
    ended.abort();
    swiped = Math.abs(from - clientY) >= SWIPE;
    if (swiped) {
      moveSheet(from > clientY ? 1 : -1);
    }
  };
  handle.setPointerCapture(event.pointerId);
  handle.addEventListener("pointerup", up, { signal: ended.signal });
  handle.addEventListener("pointercancel", () => ended.abort(), { signal: ended.signal });
}
