// Every second a column, every 20 ms of it a cell: when the machine was busy, to the fraction of a second.

import type { JSX } from "preact";

export function HeatMapView(): JSX.Element | null {
  return null;
}

/** Row height in time, and what is counted. */
export function HeatMapOptions(): JSX.Element | null {
  return null;
}
