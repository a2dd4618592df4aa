// The graphs above and below a function: their trees hang on it, and fill the width with it.

import { signal } from "@preact/signals";
import { search } from "../../state/app.ts";
import type { Selection } from "../../state/app.ts";
import type { GraphHost } from "../flame/host.ts";
import { treePx, treeWindow } from "../flame/host.ts";
import { WHOLE } from "../flame/zoom.ts";
import { showFunction } from "../find_function.ts";
import type { Side } from "./centre.ts";
import { callNodeOfCentre, sides } from "./centre.ts";

/** Callers grow upwards onto the band with the function, callees hang below it. */
export function sideHost(side: Side): GraphHost {
  return {
    query: sides[side],
    selection: signal<Selection | null>(null),
    flow: signal(side === "callers" ? "up" : "down"),
    menu: "none",
    layout(canvas) {
      const query = sides[side].value;
      const window = treeWindow(0, treePx(canvas));
      return (
        query && {
          query,
          layoutPx: window.widthPx,
          part: WHOLE,
          searching: search.value !== "",
          key: "",
          ask: async (session, options) => {
            const root = await callNodeOfCentre(session, query, options);
            return { graph: await session.call("flameGraph", { query, window: { ...window, root } }, options), root };
          },
        }
      );
    },
    map: () => null,
    seen: (_, __, { left, span }) => [left, left + span],
    zoomTo: () => {},
    enter: ({ functionId }) => showFunction(functionId),
    note: () => "",
    outOne: () => {},
  };
}
