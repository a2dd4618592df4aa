// On a phone: selection and DSOs in a sheet at the foot, in three stops.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { CoverageBar } from "../ledger/CoverageBar.tsx";
import { Ledger } from "../ledger/Ledger.tsx";
import { namedCount, namedPercent, parts } from "../ledger/state.ts";
import { selection } from "../state/app.ts";
import { ForcedMark } from "../views/forced_name.tsx";
import { detail, SelectionPanel } from "./SelectionPanel.tsx";
import { Network } from "./StatusBar.tsx";

type Stop = "peek" | "half" | "full";
const STOPS: readonly Stop[] = ["peek", "half", "full"];
const stop = signal<Stop>("peek");

/** A move of the finger by this much is a step to the next stop. */
const SWIPE = 40;

function moveSheet(by: number): void {
  const at = STOPS.indexOf(stop.peek());
  stop.value = STOPS[Math.min(STOPS.length - 1, Math.max(0, at + by))] ?? "peek";
}

export function Sheet(): JSX.Element {
  const chosen = selection.value !== null;
  return (
    <aside class={`sheet sheet-${stop.value}`} aria-label="Selection and DSOs">
      <button
        type="button"
        class="sheet-handle"
        aria-expanded={stop.value !== "peek"}
        onClick={() => moveSheet(stop.peek() === "full" ? -2 : 1)}
        onPointerDown={swipe}
      >
        <span class="sheet-grip" aria-hidden="true" />
        <span class="visually-hidden">Selection and DSOs: </span>
        <span class="sheet-line">
          <strong>{chosen && detail.value !== null ? <><ForcedMark flags={detail.value.flags} />{detail.value.name}</> : "DSOs"}</strong>
          {!chosen && <span class="ink-mute">{namedCount}</span>}
          <strong class="push-right">{namedPercent.value.toFixed(1)} %</strong>
        </span>
        <CoverageBar parts={parts.value} kind="thick" />
      </button>
      {stop.value !== "peek" && (
        <div class="sheet-body">
          {chosen && <SelectionPanel />}
          <Ledger />
          <p class="sheet-foot"><Network /></p>
        </div>
      )}
    </aside>
  );
}

function swipe(event: PointerEvent): void {
  const handle = event.currentTarget as HTMLElement;
  const from = event.clientY;
  const end = (ended: PointerEvent): void => {
    handle.removeEventListener("pointerup", end);
    const moved = from - ended.clientY;
    if (Math.abs(moved) >= SWIPE) {
      // A swipe must not count as the click that follows it.
      handle.addEventListener("click", (click) => click.stopImmediatePropagation(), { once: true, capture: true });
      moveSheet(moved > 0 ? 1 : -1);
    }
  };
  handle.setPointerCapture(event.pointerId);
  handle.addEventListener("pointerup", end);
}
